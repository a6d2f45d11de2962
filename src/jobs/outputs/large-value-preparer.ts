// Prepares large output values and results of one job in time slices of its owner, before they are published. It replaces secrets, stores media with most
// of their rows, and caches JSON texts. Small values are prepared when they are published.
import type { ResultManifest } from '../../../generated/types.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { cachedJsonText, cacheJsonTextSteps, stringifyWithCachedMembers } from '../../shared/incremental-json.ts'
import { chunkText } from '../../shared/text-chunks.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { AdditionalWrite } from '../commit/commit-range.ts'
import { describeLargeInputsSteps } from './input-provenance.ts'
import {
  checkOutputSizes,
  type OutputPublication,
  type OutputPublisher,
  type PreparedOutputValue,
} from './publication.ts'
import { collectOutputValues } from './result-manifest.ts'

/** A result whose parameters and outputs have about this many characters or more is prepared before the job ends. */
const LARGE_RESULT = 100_000

/** Whether a result with these parameters and outputs must be prepared before the job ends. */
export function isLargeResult({ weight }: OutputPublication, params: ResultValues['inputs']): boolean {
  return weight + estimateSize(params) >= LARGE_RESULT
}

/** Characters of one part of a result. Writing and committing a megabyte takes 8 to 12 ms. */
const PART = 1_000_000

/** The large members of a result, whose JSON texts are cached. */
export interface ResultValues {
  readonly inputs: Readonly<Record<string, unknown>>
  readonly outputs: Readonly<Record<string, unknown>>
}

/** A result that was prepared before its job ends. */
export interface PreparedResult {
  readonly outputs: ResultValues['outputs']
  /** The manifest as JSON text, and the number of its stored parts; null: the text goes into the row of the job. */
  readonly text: string
  readonly parts: number | null
}

export interface LargeValuePreparerHost {
  readonly plan: Plan
  readonly publication: OutputPublication
  readonly publisher: OutputPublisher
  readonly slices: TimeSliceScheduler
  readonly owner: string
  /** Writes rows of a value before it is published, and returns the rows that must be written with it. */
  writeEarly(extras: readonly AdditionalWrite[]): Promise<readonly AdditionalWrite[]>
  /** Builds the manifest of the result. */
  manifest(large: ResultValues): ResultManifest
  /** Stores a text in parts. */
  writeResult(parts: readonly string[]): Promise<void>
}

export class LargeValuePreparer {
  readonly #host: LargeValuePreparerHost
  /** By output name, a prepared value or the error of its preparation. */
  #values: Map<string, { ready: PreparedOutputValue } | { error: unknown }> | null = null
  #result: PreparedResult | null = null

  constructor(host: LargeValuePreparerHost) {
    this.#host = host
  }

  /** Prepares the next value of an output. It does not reject: `take` throws the error. */
  async prepare(node_id: string, output_name: string, value: unknown): Promise<void> {
    const { publication, slices, owner } = this.#host
    this.#values ??= new Map()
    try {
      const ready = await slices.run(owner, publication.readySteps(node_id, output_name, value))
      const extras = await this.#host.writeEarly(ready.stored.extras)
      this.#values.set(output_name, { ready: { ...ready, stored: { ...ready.stored, extras } } })
    } catch (error) {
      this.#values.set(output_name, { error })
    }
  }

  /** Takes the prepared value of an output, or null. @throws the error of the preparation */
  take(output_name: string): PreparedOutputValue | null {
    const found = this.#values?.get(output_name)
    if (!found) return null
    this.#values!.delete(output_name)
    if ('error' in found) throw found.error
    return found.ready
  }

  /** Prepares the result. No value may be published from then on. @throws NodeError where the outputs together are too large */
  async prepareResult(params: ResultValues['inputs']): Promise<void> {
    const { plan, publication, slices, owner } = this.#host
    const large = await slices.run(owner, this.#resultSteps(params, collectOutputValues(plan, publication.lists)))
    const text = stringifyWithCachedMembers(this.#host.manifest(large))
    const parts = text.length <= PART ? null : chunkText(text, PART)
    if (parts) await this.#host.writeResult(parts)
    this.#result = { outputs: large.outputs, text, parts: parts?.length ?? null }
  }

  *#resultSteps(params: ResultValues['inputs'], outputs: ResultValues['outputs']): Steps<ResultValues> {
    const inputs = yield* describeLargeInputsSteps(yield* this.#host.publisher.provenanceSteps(params))
    yield* cacheJsonTextSteps(inputs)
    const values = Object.values(outputs)
    for (const value of values) yield* cacheJsonTextSteps(value)
    // The JSON text of a plain string cannot be cached, so the whole object is cached instead.
    const holdsTexts = values.some((value) => typeof value === 'string')
    if (holdsTexts) yield* cacheJsonTextSteps(outputs)
    checkOutputSizes((holdsTexts ? [outputs] : values).map(cachedJsonText))
    return { inputs, outputs }
  }

  /** The prepared result, or null. */
  get result(): PreparedResult | null {
    return this.#result
  }
}
