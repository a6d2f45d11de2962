// What is wrong with a large body or frame: found in a worker thread, on its bytes. Only the verdict leaves the thread.
import { isUtf8 } from 'node:buffer'
import { bodyValidators, commandValidators, type Validate } from '../../generated/validators.js'
import { MOST_PROBLEMS, type Problem } from '../errors.ts'
import { deeperThan, MAX_DEPTH } from '../json.ts'
import { MOST_KEYS } from '../most-keys.ts'
import { illFormedTexts, problemsOf } from '../problems.ts'
import { contentsOf, jsonContents } from './contents.ts'
import { decodeFrame, InvalidFrame, inexactIn, mayBeIllFormed } from './frames.ts'
import { wideInUtf8 } from './wide-integers.ts'

export type Request =
  /** `passed_on`: the service does not read the numbers in it. */
  | { readonly kind: 'body'; readonly operation: string; readonly passed_on: boolean; readonly bytes: Uint8Array }
  | { readonly kind: 'frame'; readonly channel: string; readonly binary: boolean; readonly bytes: Uint8Array }

export type BodyVerdict =
  | { readonly kind: 'not_utf8' | 'not_json' | 'too_deep' }
  /** `memory_bytes`: about what its value takes. */
  | { readonly kind: 'valid'; readonly memory_bytes: number }
  /** The object at `path` has too many keys. */
  | { readonly kind: 'too_many_keys'; readonly path: string }
  /** Texts with half a character in them, or integers beyond 2^53. */
  | { readonly kind: 'ill_formed' | 'wide'; readonly problems: readonly Problem[] }
  /** Not what the schema says. */
  | { readonly kind: 'invalid'; readonly problems: readonly Problem[]; readonly memory_bytes: number }

export type FrameVerdict =
  | { readonly kind: 'unreadable'; readonly message: string }
  /** `head` is the message without what is large in it; enough to answer a message that is refused. */
  | {
      readonly kind: 'message'
      readonly head: unknown
      /** By the schema of the command; empty where there is no such command. */
      readonly problems: readonly Problem[]
      /** What of it would be stored as something else. */
      readonly inexact: readonly Problem[]
      /** About what its value takes. */
      readonly memory_bytes: number
    }

export function judgeBody({ operation, passed_on, bytes }: Request & { kind: 'body' }): BodyVerdict {
  if (!isUtf8(bytes)) return { kind: 'not_utf8' }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { memory_bytes, crowded } = jsonContents(buffer)
  if (crowded !== null) return { kind: 'too_many_keys', path: `/body${crowded}` }
  let body: unknown
  try {
    body = parsedText(buffer)
  } catch {
    return { kind: 'not_json' }
  }
  if (deeperThan(body, MAX_DEPTH)) return { kind: 'too_deep' }
  const problems = mayBeIllFormed(buffer, false) ? some(illFormedTexts(body, '/body')) : []
  if (problems.length > 0) return { kind: 'ill_formed', problems }
  const wide = passed_on ? [] : some(wideInUtf8(bytes, '/body'))
  if (wide.length > 0) return { kind: 'wide', problems: wide }
  const validate = bodyValidators[operation as keyof typeof bodyValidators] as Validate
  if (validate({ body })) return { kind: 'valid', memory_bytes }
  return { kind: 'invalid', problems: problemsOf(validate.errors ?? []), memory_bytes }
}

const MARK = '\ufeff'

/** Text in UTF-8, without the mark of a byte order that it may have. */
export function textOf(bytes: Buffer): string {
  const text = bytes.toString()
  return text.startsWith(MARK) ? text.slice(MARK.length) : text
}

/** The value of JSON text in UTF-8. @throws SyntaxError */
export function parsedText(bytes: Buffer): unknown {
  return JSON.parse(textOf(bytes))
}

function some(problems: readonly Problem[]): Problem[] {
  return problems.slice(0, MOST_PROBLEMS + 1)
}

export function judgeFrame({ channel, binary, bytes }: Request & { kind: 'frame' }): FrameVerdict {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { memory_bytes, crowded } = contentsOf(data, binary)
  if (crowded !== null) return { kind: 'unreadable', message: tooManyKeys(crowded) }
  let message: unknown
  try {
    message = decodeFrame(data, binary)
  } catch (error) {
    if (error instanceof InvalidFrame) return { kind: 'unreadable', message: error.message }
    throw error
  }
  const head = headOf(message)
  const inexact = some(inexactIn(message, data, binary))
  return { kind: 'message', head, problems: commandProblems(channel, message), inexact, memory_bytes }
}

function tooManyKeys(path: string): string {
  return `the object at "${path}" has more than ${MOST_KEYS.toLocaleString('en')} keys`
}

function commandProblems(channel: string, message: unknown): Problem[] {
  if (!isRecord(message) || typeof message.command !== 'string') return []
  const commands = commandValidators[channel as keyof typeof commandValidators] as Readonly<Record<string, Validate>>
  if (!Object.hasOwn(commands, message.command)) return []
  const validate = commands[message.command]!
  return validate(message) ? [] : problemsOf(validate.errors ?? [])
}

const ENVELOPE = ['command', 'type', 'request_id']
const NAMES = ['job_id', 'thread_id']
/** Longer than any name that is answered with. */
const LONGEST = 1_024

function headOf(message: unknown): unknown {
  if (!isRecord(message)) return null
  return { ...members(message, ENVELOPE), ...(isRecord(message.data) ? { data: members(message.data, NAMES) } : {}) }
}

function members(of: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  const found = keys.filter((key) => Object.hasOwn(of, key)).map((key) => [key, shortened(of[key])] as const)
  return Object.fromEntries(found)
}

/** A value of the same type, and where it is short the value itself. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, LONGEST)
  return typeof value === 'object' && value !== null ? {} : value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
