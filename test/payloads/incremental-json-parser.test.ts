// Tests that JSON parsed in parts gives the same value as the engine's own parser, whatever it contains and wherever it is cut.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { parseJsonSteps } from '../../src/payloads/incremental-json-parser.ts'
import { decodeMessagePackSteps } from '../../src/payloads/incremental-message-pack-decoder.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { inMostRounds } from '../helpers/patience.ts'
import { mostMs } from '../helpers/processor.ts'
import { scaled } from '../helpers/scale.ts'

const seed = Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

const parsed = (text: string) => runToCompletion(parseJsonSteps(Buffer.from(text)))

/** Also compares the order of keys, and own properties that `deepEqual` may not see. */
function same(text: string): void {
  const [got, expected] = [parsed(text), JSON.parse(text) as unknown]
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)]
  if (a !== b) assert.fail(difference(a, b))
  assert.deepEqual(got, expected)
}

/** Returns the difference of two texts, because the whole texts would be megabytes. */
function difference(a: string, b: string): string {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const around = (text: string) => text.slice(Math.max(0, at - 50), at + 50)
  return `differs at ${at}: ${around(a)} for ${around(b)}`
}

/** Returns JSON for a string, without its quotes: with usual escapes, and with escapes only. */
const plain = (text: string) => JSON.stringify(text).slice(1, -1)
const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')

const filler = fc.oneof(
  fc.integer({ min: 1, max: 70_000 }).map((length) => 'x'.repeat(length)),
  fc
    .tuple(
      fc.constantFrom('x', 'ä', '€', '😀', '\\', '"', 'n\n', '\u0001', '\ud83d', 'a€\u0000😀"\\'),
      fc.integer({ min: 1, max: 700_000 }),
    )
    .map(([text, length]) => text.repeat(Math.ceil(length / text.length))),
)
const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '', '0', '17', 'a"b', '\\', 'ä€😀', ':'))
const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, true, -0.5, 1e300, '[', '"{', '\\', '\\"', ',', 'ä€😀', [], {}),
    fc.string(),
    filler,
    fc.array(tie('any'), { maxLength: 12 }),
    fc.dictionary(key, tie('any'), { maxKeys: 12 }),
    fc
      .tuple(fc.constantFrom('[],', '{},', '"a,]",', '1,', '{"a":[{"b":"}"}]},'), fc.integer({ min: 0, max: 20_000 }))
      .map(([item, count]) => JSON.parse(`[${item.repeat(count)}null]`) as unknown),
  ),
}))

describe(`JSON in parts (seed ${seed})`, () => {
  test('any value, with and without white space', () => {
    fc.assert(
      fc.property(any, fc.constantFrom(0, 1, '\t\n'), (value, space) => same(JSON.stringify(value, null, space))),
      { seed, numRuns: scaled(30) },
    )
  })

  test('a key twice, and a mark of the byte order', () => {
    const long = 'y'.repeat(40_000)
    same(`{"a":"${long}","b":1,"a":["${long}"],"c":{"a":2},"a":{"d":"${long}"}}`)
    same(`{"a":{"__proto__":["${long}"]},"__proto__":{"x":"${long}"}}`)
    assert.deepEqual(parsed(`\ufeff["${long}"]`), [long])
    assert.equal(parsed(`\ufeff"${long}"`), long)
    assert.equal(parsed(' 17 '), 17)
  })

  test('long texts, as they are and with escapes alone', () => {
    for (const text of ['x', 'ä', '€', '😀', '\\', '"\n', '\ud83d', 'a€\u0000😀"\\/'])
      for (const before of ['', 'x', 'xyz', 'xyzu'])
        for (const write of [plain, escaped]) {
          const unit = write(text)
          const long = `"${write(before)}${unit.repeat(400_000 / Buffer.byteLength(unit))}"`
          same(`{ ${long} : [1, ${long}], "a" :1, "b": {"__proto__":${long} }, "a":${long}}`)
        }
  })

  test('a long text is read in short parts', (t) => {
    const parse = t.mock.method(JSON, 'parse')
    const text = 'ä'.repeat(1_000_000)
    assert.deepEqual(parsed(`{"text":"${text}"}`), { text })
    const longest = Math.max(...parse.mock.calls.map((call) => call.arguments[0].length))
    assert.ok(longest < 300_000, `${longest} characters at once`)
  })

  test('no step is long', () => {
    const text = JSON.stringify({ list: Array.from({ length: 200_000 }, (_, at) => ({ at, name: `n${at}` })) })
    const steps = parseJsonSteps(Buffer.from(text))
    let count = 0
    while (!steps.next().done) count++
    assert.ok(count >= text.length / 32_768 - 1, `${count} steps`)
  })
})

test('no step of a very long list moves it into larger memory again', async () => {
  const bytes = Buffer.from(`[${'1,'.repeat(14_999_999)}1]`)
  await inMostRounds(async () => {
    const steps = parseJsonSteps(bytes)
    let longest = 0
    let step: ReturnType<typeof steps.next>
    do {
      const before = process.threadCpuUsage()
      step = steps.next()
      const { user, system } = process.threadCpuUsage(before)
      longest = Math.max(longest, (user + system) / 1_000)
    } while (!step.done)
    assert.equal((step.value as unknown[]).length, 15_000_000)
    const most = mostMs(longest, 120)
    assert.ok(longest < most, `A step took ${longest} of ${most} ms.`)
  })
})

test('a long list with longer last items, or with a list after it, has exactly its items', () => {
  const many = Array.from({ length: 1_200_000 }, (_, at) => at % 10)
  const value = { a: [...many, ...Array(50).fill('x'.repeat(40_000))], b: [many.slice(0, 9), { c: many }], d: 1 }
  assert.deepEqual(runToCompletion(parseJsonSteps(Buffer.from(JSON.stringify(value)))), value)
  assert.deepEqual(runToCompletion(decodeMessagePackSteps(Buffer.from(encode(value)))), value)
})

test('JSON that is cut off is refused, and so is an object with too many names', () => {
  const long = `{"list":[${'"text",'.repeat(20_000)}1],"names":{"a":1,"b":2,"c":3}}`
  const read = (text: string, most?: number) => runToCompletion(parseJsonSteps(Buffer.from(text), most))
  assert.throws(() => read(long.slice(0, -1)), SyntaxError)
  assert.throws(() => read(long.slice(0, 100_000)), SyntaxError)
  assert.throws(() => read(long, 2), SyntaxError)
  assert.deepEqual(read(long, 3), JSON.parse(long))
})
