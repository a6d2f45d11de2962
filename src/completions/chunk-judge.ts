// What the events of a stream are, one after the other: chunks, which pass as they are, the count, the end, or what no client should see. It parses
// next to nothing: there may be thousands of events a second.
import { jsonTextSteps } from '../json-steps.ts'
import { Malformed } from '../models/checked.ts'
import { isLong } from '../models/json-text.ts'
import { guardChoices } from '../models/openai-calls.ts'
import { failureIn } from '../models/openai-events.ts'
import type { Steps } from '../time-slices.ts'
import { changesOf } from './changes.ts'
import {
  type ChunkHead,
  type Counted,
  DONE_EVENT,
  eventOf,
  hasChoices,
  headOf,
  holdsCalls,
  holdsUsage,
  isFinish,
  isWellFormed,
  parsed,
  writtenIn,
  writtenInChoices,
  writtenInTexts,
} from './chunk-facts.ts'
import { isText, type Json, objectSteps } from './json-values.ts'
import { edited } from './members.ts'
import { StreamedCalls } from './mended-calls.ts'
import { finishIn, mendedChunk } from './mended-chunks.ts'
import { StreamedUsage } from './streamed-usage.ts'
import { ToldFailure } from './told-failure.ts'
import { withTexts } from './with-texts.ts'

const DONE = '[DONE]'

export interface ChunkJudgeParts {
  /** Whether the client wants a chunk with the usage. */
  readonly include_usage: boolean
  /** How many choices were asked for; one where that is absent. */
  readonly choices?: number
  /** What was used, where the provider says nothing or zero. */
  complete(counted: Counted | null): Counted
}

export class ChunkJudge {
  readonly #parts: ChunkJudgeParts
  /** The choices, with why they end where nobody says it. */
  readonly #seen = new Map<unknown, string>()
  readonly #finished = new Set<unknown>()
  readonly #calls = new StreamedCalls()
  readonly #usage = new StreamedUsage()
  #head: ChunkHead | null = null
  #begun = false
  #done = false
  #length = 0
  #fault: Malformed | null = null

  constructor(parts: ChunkJudgeParts) {
    this.#parts = parts
  }

  get done(): boolean {
    return this.#done
  }

  /** Whether a chunk with a choice has come. What comes before says nothing of the answer: comments, pings, what Azure's filters found in the prompt. */
  get begun(): boolean {
    return this.#begun
  }

  get length(): number {
    return this.#length
  }

  get counted(): Counted | null {
    return this.#usage.counted
  }

  get fault(): Malformed | null {
    return this.#fault
  }

  /** Nothing behind it is read. */
  wrong(what: string): null {
    this.#fault ??= new Malformed(what)
    return null
  }

  /** What stands in the place of an event with data; null where it passes, or where the stream is at fault. It takes one step, unless the event is long. */
  *judge(data: string, name: string): Steps<string | null> {
    if (data === DONE) {
      const ending = this.#ending()
      return ending === DONE_EVENT ? null : ending
    }
    if (data[0] !== '{' || data.at(-1) !== '}') return this.wrong('an event that is no object')
    try {
      return isLong(data) ? yield* this.#judgeLong(data, name) : this.#judgeShort(data, name)
    } catch (cause) {
      if (!(cause instanceof Malformed)) throw cause
      this.#fault ??= cause
      return null
    }
  }

  /** @throws Malformed */
  #judgeShort(data: string, name: string): string | null {
    if (this.#isPlain(data, name)) {
      this.#length += writtenIn(data)
      if (isFinish(data)) this.#finished.add(0)
      return null
    }
    const chunk = parsed(data)
    if (chunk === null) return this.wrong('an event that is no JSON')
    this.#guard(chunk, name)
    const mended = mendedChunk(chunk)
    const isMended = mended !== chunk
    const shown = this.#look(chunk, mended, (choices) =>
      isMended || choices.length > 1 ? writtenInChoices(choices) : writtenIn(data),
    )
    return shown === null ? this.#edited(chunk, mended, data) : textOf(shown)
  }

  /** The same of a long event, which is written anew where anything of it is not as it came. @throws Malformed */
  *#judgeLong(data: string, name: string): Steps<string | null> {
    const bytes = Buffer.from(data, 'latin1')
    yield
    const given = yield* objectSteps(bytes)
    this.#guard(given, name)
    const chunk = yield* withTexts(given, 'delta')
    const mended = mendedChunk(chunk)
    const looked = this.#look(chunk, mended, writtenInTexts)
    if (looked === '') return looked
    const shown = looked ?? this.#calls.mended(mended)
    return shown === given ? null : `data: ${yield* jsonTextSteps(shown)}\n\n`
  }

  /** @throws Malformed where a chunk has more choices than there may be; ToldFailure where it says that the answer failed */
  #guard(chunk: Json, name: string): void {
    const failure = name === 'error' ? chunk : failureIn(chunk)
    if (failure) {
      this.#usage.add(chunk.usage)
      throw new ToldFailure(failure, chunk.usage)
    }
    if (Array.isArray(chunk.choices)) guardChoices(chunk.choices.length)
  }

  /** At the end of the bytes, with what was read of an event: what the client still has to be told. @throws Malformed where it is cut off */
  end(data: string): string {
    // Not everybody ends the last line.
    if (data === DONE && !this.#fault) {
      const ending = this.#ending()
      if (!this.#fault) return ending
    }
    if (this.#fault) throw this.#fault
    if (data !== '') throw new Malformed('a stream that ends in the middle of an event')
    if (!this.#isFinished) throw new Malformed('a stream that ends without saying so')
    return this.#ending()
  }

  /** Whether nothing has to be known of it but its length, and whether it is the last one. */
  #isPlain(data: string, name: string): boolean {
    if (!this.#begun || name === 'error' || (this.#parts.choices ?? 1) > 1) return false
    if (!hasChoices(data) || !isWellFormed(data)) return false
    return !data.includes('"error"') && !holdsUsage(data) && !holdsCalls(data)
  }

  get #isFinished(): boolean {
    const { choices = 1 } = this.#parts
    return this.#finished.size >= choices && [...this.#seen.keys()].every((index) => this.#finished.has(index))
  }

  /**
   * What is shown in the place of a chunk: nothing, or another chunk; null where the chunk is shown itself. `mended` is the chunk with what its choices lack, `writtenOf`
   * how much they say. @throws Malformed where it has more choices than there may be, or a count without an end
   */
  #look(chunk: Json, mended: Json, writtenOf: (choices: readonly unknown[]) => number): Json | '' | null {
    const { usage } = chunk
    const isCounted = this.#usage.add(usage)
    // What is neither a chunk nor a count is for nobody here.
    if (!Array.isArray(mended.choices) && !isCounted) return ''
    const choices = Array.isArray(mended.choices) ? mended.choices : []
    // What Azure sends before the answer has an empty head.
    if (!this.#begun) this.#head = headOf(chunk)
    this.#begun ||= choices.length > 0
    this.#length += writtenOf(choices)
    this.#lookAt(choices)
    if (!isCounted) return null
    if (choices.length > 0) {
      this.#usage.show(usage)
      return null
    }
    return this.#parts.include_usage ? this.#counted(chunk, usage) : ''
  }

  /** What is shown in the place of a chunk that has a count and nothing else; null where it is shown itself. */
  #counted(chunk: Json, given: Json): Json | null {
    const usage = this.#usage.whole(given, this.#parts.complete(this.counted))
    this.#usage.show(usage)
    return usage === given && Array.isArray(chunk.choices) ? null : this.#headed({ ...chunk, choices: [], usage })
  }

  /** What stands in the place of a chunk whose choices or calls lack something; null where it passes. */
  #edited(chunk: Json, mended: Json, data: string): string | null {
    const changes = changesOf(data, chunk, this.#calls.mended(mended))
    if (changes.length === 0) return null
    // Of the lines of an event only the space between values is left.
    return `data: ${edited(Buffer.from(data, 'latin1'), changes).toString().replaceAll('\n', ' ')}\n\n`
  }

  #lookAt(choices: readonly unknown[]): void {
    for (const choice of choices) {
      const { index = 0, finish_reason, delta } = (choice ?? {}) as Json
      this.#seen.set(index, finishIn(delta) ?? this.#seen.get(index) ?? 'stop')
      if (isText(finish_reason)) this.#finished.add(index)
    }
    guardChoices(this.#seen.size)
  }

  /** The last events: why each choice ended that did not say it, what was used, where the client waits for it, and the end. */
  #ending(): string {
    if (!this.#begun && !this.counted) {
      this.wrong('the end of nothing')
      return ''
    }
    this.#done = true
    return this.#finishes() + this.#lastCount() + DONE_EVENT
  }

  #finishes(): string {
    const { choices = 1 } = this.#parts
    if (choices === 1 && this.#finished.size > 0) return ''
    const open = [...this.#seen].filter(([index]) => !this.#finished.has(index))
    const ends = open.map(([index, finish_reason]) => ({ index, delta: {}, finish_reason }))
    return ends.map((choice) => this.#chunk({ choices: [choice] })).join('')
  }

  #lastCount(): string {
    // What has nothing but a count would be nothing without it.
    if (!this.#parts.include_usage && this.#begun) return ''
    const usage = this.#usage.missing(this.#parts.complete(this.counted))
    return usage ? this.#chunk({ choices: [], usage }) : ''
  }

  #chunk(chunk: Json): string {
    return eventOf(this.#headed(chunk))
  }

  #headed(chunk: Json): Json {
    return { ...this.#head, object: 'chat.completion.chunk', ...chunk }
  }
}

function textOf(shown: Json | ''): string {
  return shown === '' ? '' : eventOf(shown)
}
