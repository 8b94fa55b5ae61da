"""`python -m gitops_mc.cli`: the same as `gitops-mc`."""

from gitops_mc.cli import main

if __name__ == "__main__":
    main()
