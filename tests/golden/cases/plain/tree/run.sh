#!/bin/sh
exec python -m wheel
