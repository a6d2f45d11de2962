// Which kinds of nodes random graphs mix, and how often: a name that stands there twice comes twice as often.
import { FAILURES, HASTY } from './random-failing.ts'
import { type Kind, LOOPS, PLAIN, STREAMS_WITHOUT_END, WEAVES } from './random-kinds.ts'

export const KINDS: Record<string, Kind> = {
  ...PLAIN,
  ...WEAVES,
  ...STREAMS_WITHOUT_END,
  ...LOOPS,
  ...FAILURES,
  ...HASTY,
}

const streams = [...Object.keys(PLAIN), 'Expand', 'Collect', 'Branch']
const weaves = [...streams, ...Object.keys(WEAVES), 'Take', 'Zip', 'Endless']
const loops = [...streams, 'Loop', 'Loop', 'Close']
const failures = [...streams, 'Fail', 'Fail', 'Break', 'Spoil', 'Catch', 'Catch']

export const MIXES = {
  streams,
  weaves,
  loops,
  failures,
  /** Everything that cannot fail. */
  calm: [...weaves, ...loops],
  all: [...weaves, ...loops, ...failures, 'Strict', 'Hasty'],
}
