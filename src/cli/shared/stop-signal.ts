// Ctrl-C at a terminal: the first asks the command to end, the second ends the process.
import { stopExitCode } from './terminal.ts'

/** The part of the process that is needed here. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit(code: number): void
}

/** Ctrl-C at a terminal arrives twice, from the terminal and from the launcher: within this time, in milliseconds, both count as one. */
export const REPEATED_SIGNAL_MS = 300

/** Aborts with the signal's name at the first SIGINT or SIGTERM, and exits at the next. `now` is monotonic, in milliseconds. */
export function createStopSignal(signalled: SignalSource, now: () => number): AbortSignal {
  const stop = new AbortController()
  let first = 0
  const handleSignal = (name: string) => {
    if (!stop.signal.aborted) {
      first = now()
      stop.abort(name)
    } else if (now() - first > REPEATED_SIGNAL_MS) signalled.exit(stopExitCode(stop.signal))
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) signalled.on(name, () => handleSignal(name))
  return stop.signal
}
