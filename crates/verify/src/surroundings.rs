//! What is around a program in the user's place: as usual, or on a terminal, in another time zone, at a later date and in
//! production mode.
//!
//! May know: the user's place, shells. Must never know: which program runs, and what it says.

use journeyman_order::UserPlace;

/// What stands for the usual surroundings in output.
pub(crate) const USUAL: &str = "-";

/// Shell functions that evaluate a line of shell: `usually LINE`, and `otherwise LINE CLOCK` in the other surroundings, as
/// far as `script` and libfaketime are there. The line has `"$@"` before a program, which the clock may give a later
/// date. An empty clock leaves the date as it is. `$later` is the clock, and `around CLOCK` prints what that comes to.
pub(crate) fn shell_functions(place: &UserPlace) -> String {
    let UserPlace { days_ahead, columns, .. } = place;
    let hours = days_ahead % 12;
    format!(
        r#"command -v timeout >/dev/null || timeout() {{ shift 3; "$@"; }}
later=
for clock in /usr/lib/*/faketime/libfaketime.so.1 /usr/lib/faketime/libfaketime.so.1; do
  [ ! -e "$clock" ] || later="$clock"
done
terminal=
! script -qec true /dev/null </dev/null >/dev/null 2>&1 || terminal=terminal
around() {{
  echo "other$terminal${{1:+later}}"
}}
usually() {{
  line="$1"
  set --
  eval "$line"
}}
otherwise() {{
  line="$1" clock="$2"
  set --
  [ ! "$clock" ] ||
    set -- env LD_PRELOAD="$clock" FAKETIME=+{days_ahead}d NO_FAKE_STAT=1 FAKETIME_DONT_FAKE_MONOTONIC=1
  export PYTHONOPTIMIZE=1 NODE_ENV=production TZ=LMT-{hours}:30
  [ "$terminal" ] || {{ eval "$line"; return; }}
  export TERM=xterm-256color COLUMNS={columns}
  script -qec "set -- $*; $line" /dev/null </dev/null
}}
"#
    )
}

/// Whether programs ran on a terminal, and at a later date, by the word that stands for their surroundings.
pub(crate) fn surroundings(around: &str) -> (bool, bool) {
    (around.contains("terminal"), around.contains("later"))
}
