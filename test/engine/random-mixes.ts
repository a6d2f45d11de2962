// Which kinds of nodes random graphs mix, and how often: a name that stands there twice comes twice as often.
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
