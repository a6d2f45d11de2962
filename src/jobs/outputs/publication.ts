// What a job hands out: the values of its outputs as everybody may see them, secrets replaced and media by reference, in the order in which
// they came, and the assets that they refer to.
import type { AssetReference, ManifestAsset } from '../../../generated/types.ts'
import type { JobTable } from '../../db/schema.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { MAX_RUN_OUTPUT_BYTES } from '../../engine/runtime/run/outputs.ts'
import { cachedJsonText, cacheJsonTextSteps, stringifyLongTextSteps } from '../../shared/incremental-json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { AdditionalWrite } from '../commit/job-writer.ts'
import type { RedactingTextStream } from '../run/chunk-redactor.ts'

/** Where a value of an output belongs. */
export interface OutputValuePosition {
  readonly row: JobTable
  readonly node_id: string
  readonly output_name: string
  /** Counts the values of the output from 0. */
  readonly ordinal: number
}

/** A value with its media stored. */
export interface StoredOutputValue {
  readonly value: unknown
  readonly found: readonly { readonly path: readonly (string | number)[]; readonly asset: AssetReference }[]
  /** Writes the rows of the assets. */
  readonly extras: readonly AdditionalWrite[]
}

/** Texts of a stream that may be parts of one. What may be told of them comes in the same order. */
export interface StreamedTextRedaction {
  /** How many are held back. */
  readonly waiting: number
  /** How many characters are held back of which it is not decided whether they may be told. */
  readonly undecided: number
  push(text: string): readonly string[]
  /** As `push`, where much is undecided. The next text comes when all steps are done. */
  pushSteps(text: string): Steps<readonly string[]>
  /** The rest: nothing follows. */
  end(): readonly string[]
  /** The same where more would have followed. */
  cut(): readonly string[]
}

/** Makes values fit to be shown and kept. */
export interface OutputPublisher {
  /** The same value with known secrets replaced. */
  redact<T>(value: T): T
  /** The same for a message, which may quote texts and cut them. */
  redactMessage(text: string): string
  /** `redact` in steps. */
  redactSteps<T>(value: T): Steps<T>
  /** The same for the texts of one stream. */
  texts(): StreamedTextRedaction
  /** The same for the pieces of one text. */
  textStream(): RedactingTextStream
  /** The parameters of a job as its provenance shows them. */
  provenance(params: Readonly<Record<string, unknown>>): Record<string, unknown>
  /** `provenance` in steps. */
  provenanceSteps(params: Readonly<Record<string, unknown>>): Steps<Record<string, unknown>>
  /** Stores the media in a value. The same place and content give the same asset again. */
  store(value: unknown, place: OutputValuePosition): StoredOutputValue
  /** `store` in steps. */
  storeSteps(value: unknown, place: OutputValuePosition): Steps<StoredOutputValue>
}

/** A value, made ready to be shown before it is taken in. */
export interface PreparedOutputValue {
  readonly stored: StoredOutputValue
  readonly shown: unknown
  /** The JSON text of what is shown, where that is one long text. */
  readonly text: string | null
  /** Of a text of a stream: what may be told with it. */
  readonly texts: readonly string[] | null
}

export interface PublishedOutputValue {
  readonly value: unknown
  /** Where the value is an asset as a whole. */
  readonly asset: AssetReference | null
  readonly extras: readonly AdditionalWrite[]
  /** The JSON text of the value, where it is one long text and was made before. */
  readonly text: string | null
}

/** In bytes, of one value: what a body of a request brings in by default may be handed out. Its event is one row, and to write a megabyte takes 8 to 12 ms, in which nobody else is served. */
const LARGEST_JSON = 16_777_216

/** Looks whether the JSON text of a large value fits into one row. @throws NodeError `too_large` */
function checkOutputSize(text: string | null | undefined): void {
  checkJsonBytes(Buffer.byteLength(text ?? ''), 'an output', LARGEST_JSON)
}

/** Looks whether the JSON texts of outputs fit into one result. @throws NodeError `too_large` */
export function checkOutputSizes(texts: readonly (string | undefined)[]): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
  checkJsonBytes(bytes, 'all outputs', MAX_RUN_OUTPUT_BYTES)
}

/** The engine counts characters, of which JSON may write six for one, and media, which become files. */
function checkJsonBytes(bytes: number, of: string, most: number): void {
  if (bytes <= most) return
  const text = `The JSON of ${of} has ${bytes.toLocaleString('en')} bytes, more than ${most.toLocaleString('en')}.`
  throw new NodeError(`${text} Hand out less, parts of it in several runs, or files.`, 'too_large')
}

/** Texts of a stream that may wait, because a secret of their user begins as they do together: when it turns out to be none, all of them are told at once. */
const MOST_WAITING = 5_000
/** Characters that are held back of a stream: where more are, each may take microseconds when they are decided about. */
const MUCH_UNDECIDED = 4_096

function createTooManyWaitingError(): NodeError {
  const most = MOST_WAITING.toLocaleString('en')
  const why = `More than ${most} texts of the stream wait, because one of your secrets begins as they do together.`
  return new NodeError(`${why} Hand out larger pieces, or one text.`, 'too_large')
}

export class OutputPublication {
  readonly #row: JobTable
  readonly #publisher: OutputPublisher
  readonly #streams: ReadonlyMap<string, StreamedTextRedaction>
  readonly #lists: Map<string, unknown[]>
  readonly assets: ManifestAsset[] = []
  /** About how many characters the values have together. */
  weight = 0

  constructor(row: JobTable, plan: Plan, publisher: OutputPublisher) {
    this.#row = row
    this.#publisher = publisher
    this.#streams = new Map(plan.outputs.flatMap(({ name, stream }) => (stream ? [[name, publisher.texts()]] : [])))
    this.#lists = new Map(plan.outputs.map(({ name }) => [name, []]))
  }

  /** All values by output name. */
  get lists(): Record<string, unknown[]> {
    return Object.fromEntries(this.#lists)
  }

  /**
   * Takes in the next value of an output, and gives what may be shown of it and of those before. The texts of a stream may be parts of one, in which a
   * secret stands across them: some wait until that is known.
   */
  add(
    node_id: string,
    output_name: string,
    value: unknown,
    ready: PreparedOutputValue | null = null,
  ): PublishedOutputValue[] {
    const list = this.#lists.get(output_name)!
    const texts = this.#streams.get(output_name)
    const place = this.#positionOf(node_id, output_name)
    const { ordinal } = place
    const { value: stored, found, extras } = ready?.stored ?? this.#publisher.store(value, place)
    this.weight += estimateSize(stored)
    if (texts && typeof stored === 'string' && found.length === 0) {
      const shown = ready?.texts ?? texts.push(stored)
      if (texts.waiting > MOST_WAITING) throw createTooManyWaitingError()
      return this.#publishTexts(output_name, shown, ready)
    }
    const before = this.end(output_name)
    const shown = ready ? ready.shown : this.#publisher.redact(stored)
    const prefix = texts ? [ordinal] : []
    // Keys are redacted as those of the value are: the paths lead through what is shown.
    for (const { path, asset } of found)
      this.assets.push({ output_name, path: [...prefix, ...this.#publisher.redact(path)], asset })
    list.push(shown)
    const whole = found.find(({ path }) => path.length === 0)
    return [...before, { value: shown, asset: whole?.asset ?? null, extras, text: ready?.text ?? null }]
  }

  /** Whether even a small value of an output is to be made ready for `add`. */
  holdsMuch(output_name: string): boolean {
    return (this.#streams.get(output_name)?.undecided ?? 0) > MUCH_UNDECIDED
  }

  /** Makes the next value of an output ready for `add`. Until then no other value of the output is added. @throws NodeError where it is too large */
  *readySteps(node_id: string, output_name: string, value: unknown): Steps<PreparedOutputValue> {
    const stored = yield* this.#publisher.storeSteps(value, this.#positionOf(node_id, output_name))
    const streamed = typeof stored.value === 'string' ? this.#streams.get(output_name) : undefined
    const shown = streamed ? stored.value : yield* this.#publisher.redactSteps(stored.value)
    yield* cacheJsonTextSteps(shown)
    const text = yield* stringifyLongTextSteps(shown)
    checkOutputSize(text ?? cachedJsonText(shown))
    const texts = streamed ? yield* streamed.pushSteps(String(shown)) : null
    return { stored, shown, text, texts }
  }

  /** Where the next value of an output belongs. */
  #positionOf(node_id: string, output_name: string): OutputValuePosition {
    const ordinal = this.#lists.get(output_name)!.length + (this.#streams.get(output_name)?.waiting ?? 0)
    return { row: this.#row, node_id, output_name, ordinal }
  }

  /** What waits of an output: no value follows that may belong to it. `whole`: it came to its end, and was not cut. */
  end(output_name: string, whole = true): PublishedOutputValue[] {
    const texts = this.#streams.get(output_name)
    return this.#publishTexts(output_name, (whole ? texts?.end() : texts?.cut()) ?? [])
  }

  /** `ready`: the last text that came, which may be told as it is. */
  #publishTexts(
    output_name: string,
    texts: readonly string[],
    ready: PreparedOutputValue | null = null,
  ): PublishedOutputValue[] {
    const list = this.#lists.get(output_name)!
    list.push(...texts)
    const textOf = (value: string) => (value === ready?.shown ? ready.text : null)
    return texts.map((value) => ({ value, asset: null, extras: [], text: textOf(value) }))
  }
}
