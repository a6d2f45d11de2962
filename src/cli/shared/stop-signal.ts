// Ctrl-C at a terminal: the first asks for the end, the second is the end.
import { stopExitCode } from './terminal.ts'

/** The part of the process that this needs. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit(code: number): void
}

/** A terminal's Ctrl-C comes twice, from the terminal and from the launcher: within this time (ms) it is the same one. */
export const REPEATED_SIGNAL_MS = 300

/** Aborts with the signal's name at the first SIGINT or SIGTERM, and exits at the next. `now` is monotonic, in milliseconds. */
export function createStopSignal(signalled: SignalSource, now: () => number): AbortSignal {
  const stop = new AbortController()
  let first = 0
  const heard = (name: string) => {
    if (!stop.signal.aborted) {
      first = now()
      stop.abort(name)
    } else if (now() - first > REPEATED_SIGNAL_MS) signalled.exit(stopExitCode(stop.signal))
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) signalled.on(name, () => heard(name))
  return stop.signal
}
