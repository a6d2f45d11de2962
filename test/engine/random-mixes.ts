// The kinds of nodes that random graphs mix, and their frequency: a name that is listed twice is twice as frequent.
import { BUILT_LOOPS, BUILT_WEAVES } from './random-built.ts'
import { FAILURES, HASTY } from './random-failing.ts'
import { type Kind, LOOPS, PLAIN, STREAMS_WITHOUT_END, WEAVES } from './random-kinds.ts'

export const KINDS: Record<string, Kind> = {
  ...PLAIN,
  ...WEAVES,
  ...BUILT_WEAVES,
  ...STREAMS_WITHOUT_END,
  ...LOOPS,
  ...BUILT_LOOPS,
  ...FAILURES,
  ...HASTY,
}

const streams = [...Object.keys(PLAIN), 'Expand', 'Collect', 'Branch']
const weaves = [...streams, ...Object.keys(WEAVES), ...Object.keys(BUILT_WEAVES), 'Take', 'Zip', 'Endless']
const loops = [...streams, 'Loop', 'Loop', 'BuiltLoop', 'Close']
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
