EXTRA_DIST += contrib/quickstart.sh
