

def apart(name, expected, limit):
    """Runs this script once more, in a process whose end is not the end of this one; for no longer, since it may take memory all the while."""
    try:
        child = subprocess.run([sys.executable, __file__, "here"], timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"WRONG: {name} gives no answer within {limit} s; expected is {expected}")
        return 1
    if child.returncode in (0, 1, 125):
        return child.returncode
    print(f"WRONG: {name} ends its process with status {child.returncode}; expected is {expected}")
    return 1
