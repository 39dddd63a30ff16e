//! Finds the release in which something changed, by bisection.

/// Two neighbouring releases that differ in something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseChange<T> {
    /// The last release before the change, and the result of `look` in it.
    pub before: (String, T),
    /// The first release with the change, and the result of `look` in it.
    pub after: (String, T),
}

/// The result of a search over releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bisection<T> {
    /// The first release and the last do not differ.
    Same(T),
    Changed(ReleaseChange<T>),
}

/// Searches releases, the oldest first, for a change in the result of `look`. If there are several changes, it finds one of them.
///
/// # Errors
/// The first error of `look`; there is no other.
///
/// # Panics
/// If there are no releases.
pub fn bisect<T: Clone + PartialEq, E>(
    releases: &[String],
    mut look: impl FnMut(&str) -> Result<T, E>,
) -> Result<Bisection<T>, E> {
    let (mut low, mut high) = (0, releases.len() - 1);
    let newest = look(&releases[high])?;
    let oldest = if high == 0 { newest.clone() } else { look(&releases[low])? };
    if oldest == newest {
        return Ok(Bisection::Same(newest));
    }
    let (mut before, mut after) = (oldest, newest);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        let seen = look(&releases[middle])?;
        if seen == before {
            (low, before) = (middle, seen);
        } else {
            (high, after) = (middle, seen);
        }
    }
    let named = |place: usize, seen| (releases[place].clone(), seen);
    Ok(Bisection::Changed(ReleaseChange { before: named(low, before), after: named(high, after) }))
}

/// The first and the last release that show a fault, around one that shows it, given by its place. If the fault was gone in between,
/// they are the ends of one of its ranges.
///
/// # Errors
/// The first error of `shows`; there is no other.
pub fn range_around<E>(
    releases: &[String],
    place: usize,
    mut shows: impl FnMut(&str) -> Result<bool, E>,
) -> Result<(String, String), E> {
    let first = match bisect(&releases[..=place], &mut shows)? {
        Bisection::Same(_) => releases[0].clone(),
        Bisection::Changed(change) => change.after.0,
    };
    let last = match bisect(&releases[place..], shows)? {
        Bisection::Same(_) => releases[releases.len() - 1].clone(),
        Bisection::Changed(change) => change.before.0,
    };
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_that_changed_is_found_in_few_looks() {
        let releases: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        for first in 1..100 {
            let mut looks = 0;
            let found = bisect(&releases, |release| {
                looks += 1;
                Ok::<_, ()>(release.parse::<u32>().unwrap() >= first)
            });
            let change = ReleaseChange { before: ((first - 1).to_string(), false), after: (first.to_string(), true) };
            assert_eq!(found, Ok(Bisection::Changed(change)));
            assert!(looks <= 9, "{looks} looks");
        }
    }

    #[test]
    fn a_fault_that_came_and_went_has_both_its_ends() {
        let releases: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        for (first, last) in [(3, 12), (0, 19), (0, 7), (8, 19), (9, 9)] {
            let shows = |release: &str| Ok::<_, ()>((first..=last).contains(&release.parse::<usize>().unwrap()));
            for place in first..=last {
                assert_eq!(range_around(&releases, place, shows), Ok((first.to_string(), last.to_string())));
            }
        }
    }

    #[test]
    fn what_never_changed_and_what_cannot_be_seen_is_said() {
        let releases = ["1".to_owned(), "2".to_owned()];
        assert_eq!(bisect(&releases, |_| Ok::<_, ()>(7)), Ok(Bisection::Same(7)));
        assert_eq!(bisect(&releases[..1], |_| Ok::<_, ()>(7)), Ok(Bisection::Same(7)));
        assert_eq!(bisect(&releases, |release| Err::<u8, _>(release.to_owned())), Err("2".to_owned()));
    }
}
