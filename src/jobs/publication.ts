// What a job hands out: the values of its outputs as everybody may see them, secrets replaced and media by reference, in the order in which
// they came, and the assets that they refer to.
import type { AssetReference, ManifestAsset } from '../../generated/types.ts'
import type { JobTable } from '../db/schema.ts'
import type { Plan } from '../engine/plan.ts'
import type { Extra } from './writer.ts'

/** Where a value of an output belongs. */
export interface PublishedPlace {
  readonly row: JobTable
  readonly node_id: string
  readonly output_name: string
  /** Counts the values of the output from 0. */
  readonly ordinal: number
}

/** A value with its media stored. */
export interface StoredValue {
  readonly value: unknown
  readonly found: readonly { readonly path: readonly (string | number)[]; readonly asset: AssetReference }[]
  /** Writes the rows of the assets. */
  readonly extras: readonly Extra[]
}

/** Makes values fit to be shown and kept. */
export interface Publisher {
  /** The same value with known secrets replaced. */
  redact<T>(value: T): T
  /** The parameters of a job as its provenance shows them. */
  provenance(params: Readonly<Record<string, unknown>>): Record<string, unknown>
  /** Stores the media in a value. The same place and content give the same asset again. */
  store(value: unknown, place: PublishedPlace): StoredValue
}

export interface Published {
  readonly value: unknown
  /** Where the value is an asset as a whole. */
  readonly asset: AssetReference | null
  readonly extras: readonly Extra[]
}

export class Publication {
  readonly #row: JobTable
  readonly #publisher: Publisher
  readonly #streams: ReadonlySet<string>
  readonly #lists: Map<string, unknown[]>
  readonly assets: ManifestAsset[] = []

  constructor(row: JobTable, plan: Plan, publisher: Publisher) {
    this.#row = row
    this.#publisher = publisher
    this.#streams = new Set(plan.outputs.flatMap(({ name, stream }) => (stream ? [name] : [])))
    this.#lists = new Map(plan.outputs.map(({ name }) => [name, []]))
  }

  /** All values by output name. */
  get lists(): Record<string, unknown[]> {
    return Object.fromEntries(this.#lists)
  }

  /** Takes in the next value of an output. */
  add(node_id: string, output_name: string, value: unknown): Published {
    const list = this.#lists.get(output_name)!
    const place = { row: this.#row, node_id, output_name, ordinal: list.length }
    const { value: stored, found, extras } = this.#publisher.store(value, place)
    const shown = this.#publisher.redact(stored)
    const prefix = this.#streams.has(output_name) ? [list.length] : []
    // Keys are redacted as those of the value are: the paths lead through what is shown.
    for (const { path, asset } of found)
      this.assets.push({ output_name, path: [...prefix, ...this.#publisher.redact(path)], asset })
    list.push(shown)
    const whole = found.find(({ path }) => path.length === 0)
    return { value: shown, asset: whole?.asset ?? null, extras }
  }
}
