// A model server that escapes its API key in the arguments of a tool call, or splits the key across the names of
// several calls. Tested for whole and streamed answers, as bytes and as parts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { AnswerPart } from '../../src/completions/answers/generator.ts'
import { redactAnswerParts } from '../../src/completions/redaction/answer-parts.ts'
import { redactCompletionText } from '../../src/completions/redaction/completion-json.ts'
import { RedactedEvents } from '../../src/completions/redaction/redacted-events.ts'
import { AnswerPartRedactor } from '../../src/models/calls/answer-redaction.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { scaled } from '../helpers/scale.ts'
import { chunksIn } from './kit.ts'

const KEY = 'sk-Planted/key+4711'
const safety = { redactor: new Redactor([KEY]), owner: 'a', slices: new TimeSliceScheduler() }
/** A caller may have guessed fewer characters of the key. */
const TOLD = 13

type Call = { readonly index: number; readonly name?: string; readonly arguments: string; readonly custom?: true }

/** Some characters of the key as JSON escapes. */
const written = fc
  .array(fc.constantFrom('as it is', 'lower', 'upper'), { minLength: KEY.length, maxLength: KEY.length })
  .map((ways) => [...KEY].map((char, at) => (ways[at] === 'as it is' ? char : numbered(char, ways[at]!))).join(''))

function numbered(char: string, way: string): string {
  const code = char.charCodeAt(0).toString(16).padStart(4, '0')
  return `\\u${way === 'upper' ? code.toUpperCase() : code}`
}

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % text.length).toSorted((a, b) => a - b), text.length]
  return places.slice(1).map((end, at) => text.slice(places[at], end))
}

const cuts = fc.array(fc.nat(), { maxLength: 8 })

type Way = (calls: readonly Call[]) => Promise<readonly Call[]>

const partOf = ({ index, ...rest }: Call) => ({ type: 'tool_call', index, ...rest }) as const

const WAYS: Readonly<Record<string, Way>> = {
  'to nodes': async (calls) => {
    const safe = new AnswerPartRedactor(KEY)
    return [...calls.flatMap((call) => safe.redact(partOf(call)) ?? []), ...safe.flush()] as Call[]
  },
  'as parts': async (calls) => {
    async function* parts(): AsyncGenerator<AnswerPart, void, void> {
      yield* calls.map(partOf)
    }
    const told: AnswerPart[] = []
    for await (const part of redactAnswerParts(parts(), {
      redactor: new Redactor([KEY]),
      slices: new TimeSliceScheduler(),
      user: 'user',
    }))
      told.push(part)
    return told as Call[]
  },
  'as events': async (calls) => {
    const left = calls.map(({ index, name, custom, ...rest }) => {
      const body = custom ? { custom: { name, input: rest.arguments } } : { function: { name, ...rest } }
      const chunk = { id: 'x', choices: [{ index: 0, delta: { tool_calls: [{ index, ...body }] } }] }
      return `data: ${JSON.stringify(chunk)}\n\n`
    })
    const events = new RedactedEvents({ next: async () => left.shift() ?? null, close() {} }, safety)
    let text = ''
    for (let piece = await events.next(); piece !== null; piece = await events.next()) text += piece
    return chunksIn(text).flatMap(({ choices }) =>
      choices[0].delta.tool_calls.map((call: { index: number; function?: object; custom?: { input: string } }) => {
        const { input, ...named } = call.custom ?? { input: '' }
        return { index: call.index, arguments: input, ...named, ...call.function }
      }),
    )
  },
  whole: async (calls) => {
    const tool_calls = [...Map.groupBy(calls, ({ index }) => index).values()].map((own) => ({
      function: { name: own[0]!.name, arguments: own.map((one) => one.arguments).join('') },
    }))
    const given = JSON.stringify({ choices: [{ index: 0, message: { tool_calls } }] })
    const { choices } = JSON.parse(redactCompletionText(given, new Redactor([KEY])))
    return choices[0].message.tool_calls.map((call: { function: object }, index: number) => ({
      index,
      ...call.function,
    }))
  },
}

const joined = (calls: readonly Call[], index = 0) =>
  calls
    .filter((call) => call.index === index)
    .map((call) => call.arguments ?? '')
    .join('')

for (const [way, told] of Object.entries(WAYS))
  describe(`calls of tools ${way}`, () => {
    test('show no key that their arguments contain as escapes, for any split', async () => {
      await fc.assert(
        fc.asyncProperty(written, cuts, async (key, at) => {
          const pieces = piecesOf(`{"a\\\\u0073":"${key}","b":"\\n\\u0022"}`, at)
          const calls = await told(pieces.map((text) => ({ index: 0, arguments: text })))
          const value = JSON.parse(joined(calls))
          const spelled: string = value['a\\u0073']
          assert.deepEqual(Object.keys(value), ['a\\u0073', 'b'])
          assert.equal(value.b, '\n"')
          assert.match(spelled, /^.*\[redacted\]$/)
          assert.ok(spelled.length - '[redacted]'.length < TOLD, spelled)
        }),
        { numRuns: scaled(200) },
      )
    })

    test('show no key that is split across their names', async () => {
      for (let at = 1; at < KEY.length; at++) {
        const given = [KEY.slice(0, at), KEY.slice(at)].map((name, index) => ({ index, name, arguments: '{}' }))
        const names = (await told(given)).map(({ name }) => name ?? '')
        assert.ok(!names.join('').includes(KEY.slice(0, TOLD)), names.join(' '))
        assert.ok(!names.join('').includes(KEY.slice(TOLD)), names.join(' '))
      }
    })

    test('stay unchanged if they contain no key', async () => {
      const pieces = ['{"a":"\\u00', '3cb\\u003e\\', 'u0041 sk-Pl', '"}']
      const calls = await told(pieces.map((text) => ({ index: 0, arguments: text })))
      assert.deepEqual(JSON.parse(joined(calls)), { a: '<b>A sk-Pl' })
    })
  })
