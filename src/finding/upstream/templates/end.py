{% if apart %}
def apart():
    """Runs this script once more, in a process whose end is not the end of this one; for no longer, since it may take memory all the while."""
    limit = {{ limit }}
    try:
        child = subprocess.run([sys.executable, __file__, "here"], timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"WRONG: {VERSION} gives no answer within {limit} s; expected is {EXPECTED}")
        return 1
    if child.returncode not in (0, 1):
        print(f"WRONG: {VERSION} ends its process with status {child.returncode}; expected is {EXPECTED}")
    return 0 if child.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(apart() if sys.argv[1:] != ["here"] else main())
{% else %}
if __name__ == "__main__":
    sys.exit(main())
{% endif %}
