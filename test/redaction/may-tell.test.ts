// What redaction may reveal: a text with only a guessable part of a service secret is treated as without that secret.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createErrorTextRedactor } from '../../src/models/providers/shared/error-text-redaction.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { RedactedItems } from '../../src/redaction/streams/redacted-items.ts'
import { RedactedStream } from '../../src/redaction/streams/redacted-stream.ts'
import { scaled } from '../helpers/scale.ts'

const OWN = 'own-word-of-a-caller-77'
const body = fc.stringMatching(/^[A-Za-z0-9]{8,60}$/)
const secret = fc.oneof(
  body,
  fc.tuple(fc.constantFrom('sk-', 'sk-proj-', 'github_pat_', 'key='), body).map((parts) => parts.join('')),
  fc.tuple(body, body).map(([payload, signature]) => `eyJhbGciOiJIUzI1NiJ9.${payload}.${signature}`),
  fc.stringMatching(/^[A-Za-z0-9+/]{20,60}$/),
)
const WRITES = [
  (text: string) => text,
  (text: string) => text.toLowerCase(),
  /** The part of the encoding that depends only on the text. */
  (text: string) => btoa(text).slice(0, Math.floor((text.length * 8) / 6)),
  encodeURIComponent,
]

/** How much of a text is publicly known. */
function publicPart(text: string): string {
  if (text.startsWith('eyJ') && text.includes('.')) return text.slice(0, text.lastIndexOf('.') + 1)
  return /^.{0,15}[-_]/.exec(text)?.[0] ?? ''
}

/** From this many characters on, a prefix is not a guess. */
function threshold(text: string, write: (text: string) => string): number {
  const [known, { length }] = [write(publicPart(text)).length, write(text)]
  return Math.min(length, known + Math.max(10, Math.min(16, Math.ceil((length - known) / 2))))
}

/** The prefixes of a secret, one in each form, that a caller cannot guess. */
function tellings(text: string): string[] {
  return WRITES.map((write) => write(text).slice(0, threshold(text, write)))
}

/** A text with less of each secret than its threshold, in some form, and its split into pieces. */
const guess = fc
  .array(secret, { minLength: 1, maxLength: 3 })
  .chain((secrets) => {
    const part = fc
      .tuple(fc.constantFrom(...secrets), fc.constantFrom(...WRITES), fc.nat())
      .map(([text, write, cut]) => write(text).slice(0, cut % threshold(text, write)))
    const word = fc.oneof(part, fc.constantFrom('and', OWN, OWN.slice(0, 9), 'Bearer abc123def456'))
    return fc.record({
      secrets: fc.constant(secrets),
      text: fc.array(word, { maxLength: 8 }).map((words) => words.join(' | ')),
      size: fc.integer({ min: 1, max: 24 }),
    })
  })
  // A form with a higher threshold may begin like a form with a lower one.
  .filter(({ secrets, text }) => !secrets.some((one) => tellings(one).some((telling) => text.includes(telling))))

function redactorOf(secrets: readonly string[]): Redactor {
  const redactor = new Redactor(secrets)
  redactor.add(OWN, 'me')
  return redactor.forOwner('me')
}

function piecesOf(text: string, size: number): string[] {
  return text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
}

/** The output of all redactors for each piece and the end. */
function everythingTold(redactor: Redactor, text: string, size: number): unknown {
  const pieces = piecesOf(text, size)
  const ways = (['end', 'cut'] as const).map((end) => {
    const [stream, items] = [new RedactedStream(redactor), new RedactedItems(redactor)]
    return [
      pieces.map((piece) => [stream.push(piece), stream.waiting, items.push(piece), items.waiting]),
      stream[end](),
      items[end](),
    ]
  })
  const tail = redactor.createEagerReplacer()
  const tailed = pieces.map((piece) => [tail.push(piece), tail.waiting])
  return { ways, tailed, end: tail.end(), whole: redactor.text(text), value: redactor.value({ [text]: [text] }) }
}

describe('a text with only a guessable part of a service secret', () => {
  test('gives the same output as without that secret, whole and in pieces', () => {
    fc.assert(
      fc.property(guess, ({ secrets, text, size }) => {
        assert.deepEqual(everythingTold(redactorOf(secrets), text, size), everythingTold(redactorOf([]), text, size))
      }),
      { numRuns: scaled(1_500) },
    )
  })

  test('stays in the words of a model server that has the secret', () => {
    fc.assert(
      fc.property(guess, ({ secrets, text }) => {
        for (const one of secrets) {
          if (!tellings(one).some((part) => text.includes(part))) assert.equal(createErrorTextRedactor(one)(text), text)
        }
      }),
      { numRuns: scaled(500) },
    )
  })
})

describe('a secret of the service', () => {
  const KEY = 'sk-proj-hT7QwZ0a9LmX2'

  test('is replaced in streams when it is complete, and no text is held for it', () => {
    const told = (...pieces: string[]) => {
      const stream = new RedactedStream(redactorOf([KEY]))
      return [...pieces.map((piece) => stream.push(piece)), stream.cut()]
    }
    assert.deepEqual(told(`it is ${KEY}.`), ['it is [redacted].', ''])
    assert.deepEqual(told('A s B sk C ', KEY.slice(0, 20)), ['A s B sk C ', KEY.slice(0, 20), ''])
    // Text held for another reason, such as the prefix of the owner's secret.
    const held = `${OWN.slice(0, 9)}${KEY}`
    assert.deepEqual(told(OWN.slice(0, 9), `${KEY}!`), ['', `${held.slice(0, 9)}[redacted]!`, ''])
  })

  test('that a caller also has is held like the caller’s own secrets', () => {
    const redactor = new Redactor([KEY]).forOwner('me')
    redactor.add(KEY, 'me')
    const stream = new RedactedStream(redactor)
    assert.deepEqual([stream.push('a s'), stream.push(KEY.slice(1)), stream.end()], ['a ', '[redacted]', ''])
  })
})
