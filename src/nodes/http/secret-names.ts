// Lists the secrets that the values of a request node name, for preflights.
import type { NodeFacts } from '../../engine/node-api/node-facts.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { placeholderSteps } from './secret-placeholders.ts'

/** Properties in which secrets are inserted. */
const SECRET_PROPERTIES = ['url', 'query', 'headers', 'body'] as const

/** Limits of names that are listed and of placeholders that are read. No user has as many secrets, and no preflight looks for as many. */
const MOST_NAMES = 5_000
const MOST_PLACEHOLDERS = 10_000

/** Every placeholder has this text. */
const PLACEHOLDER_START = '{{'
/** Values that are read per step. */
const VALUES_PER_STEP = 1_000

/** The secrets that are named in the node itself. */
export function* secretNamesSteps({ data, isConnected }: NodeFacts): Steps<string[]> {
  const names = new Set<string>()
  let remaining = MOST_PLACEHOLDERS
  const own = SECRET_PROPERTIES.filter((property) => !isConnected(property)).map((property) => data[property])
  for (const text of textsOf(own)) {
    if (text === null) {
      yield
      continue
    }
    const found = yield* placeholderSteps(text, remaining)
    remaining -= found.length
    for (const { name } of found) if (names.size < MOST_NAMES) names.add(name)
    if (remaining === 0 || names.size === MOST_NAMES) break
  }
  return [...names]
}

/** The texts and keys at any depth that may have a placeholder, and null where a step ends. The walk uses no recursion. */
function* textsOf(value: unknown): Generator<string | null, void, undefined> {
  const open: Iterator<unknown>[] = [[value].values()]
  for (let read = 1; open.length > 0; read++) {
    if (read % VALUES_PER_STEP === 0) yield null
    const { done, value: one } = open.at(-1)!.next()
    if (done) open.pop()
    else if (typeof one === 'string') {
      if (one.includes(PLACEHOLDER_START)) yield one
    } else if (Array.isArray(one)) open.push(one.values())
    else if (typeof one === 'object' && one !== null && !ArrayBuffer.isView(one)) open.push(keysAndValues(one))
  }
}

function* keysAndValues(record: object): Generator<unknown, void, undefined> {
  for (const key of Object.keys(record)) {
    yield key
    yield (record as Readonly<Record<string, unknown>>)[key]
  }
}
