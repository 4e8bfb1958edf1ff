"""python -m kernelbandits"""

from kernelbandits.apps.cli import main

if __name__ == "__main__":
    main()
