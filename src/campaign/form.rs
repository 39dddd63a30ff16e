//! How what a campaign counts is written: JSON has no keys but text, so a map is a list of pairs.

/// A map with any keys.
pub(super) mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub fn deserialize<'de, K, V, D>(from: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(from)?.into_iter().collect())
    }
}

/// Groups of mismatches: case and count of each under its mismatch. The features of a group are those of its case.
pub(super) mod groups {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::campaign::Group;
    use crate::case::{Case, Features};
    use crate::verdict::Mismatch;

    type Groups = BTreeMap<(Mismatch, Features), Group>;

    pub fn serialize<S: Serializer>(groups: &Groups, to: S) -> Result<S::Ok, S::Error> {
        let mut lists: BTreeMap<&Mismatch, Vec<(&Case, u64)>> = BTreeMap::new();
        for ((mismatch, _), group) in groups {
            lists.entry(mismatch).or_default().push((&group.case, group.count));
        }
        to.collect_seq(lists)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Groups, D::Error> {
        let mut groups = Groups::new();
        for (mismatch, list) in Vec::<(Mismatch, Vec<(Case, u64)>)>::deserialize(from)? {
            for (case, count) in list {
                groups.insert((mismatch.clone(), Features::of(&case)), Group::new(case, count));
            }
        }
        Ok(groups)
    }
}
