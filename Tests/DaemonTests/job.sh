#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Stands for the program whose jobs a keeper runs: does what a test wrote into the storage directory, as the file `job`.
# It is no file of the test itself: one that was just written cannot be executed while another process is being started.
case "$1" in
repair) storage=$3 ;;
*) storage=$3/../../.. ;;
esac
. "$storage/job"
