// Events whose values may be large. Their JSON text is known; the values are made of it only where somebody asks for them, and in time
// slices where that takes long: whoever passes on the text needs no values.
import type { JobSnapshot } from '../../generated/types.ts'
import { makeMeasuredSteps } from '../engine/node-api/values/measure.ts'
import { parseJsonSteps } from '../payloads/incremental-json-parser.ts'
import { appendJsonMember } from '../shared/json.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'
import type { EventBody } from './types.ts'

/** Characters of a JSON text that is parsed in steps. Less than this takes a few milliseconds. */
const LARGE_TEXT = 262_144

export function isLargeText(text: string | null | undefined): boolean {
  return (text?.length ?? 0) > LARGE_TEXT
}

/** `JSON.parse` of stored text, in steps where it is large. */
export function* parseJsonTextSteps(text: string): Steps<unknown> {
  if (isLargeText(text)) return yield* parseJsonSteps(Buffer.from(text))
  const value: unknown = JSON.parse(text)
  yield
  return value
}

type OutputUpdateBody = Extract<EventBody, { type: 'output_update' }>
type JobTerminalBody = Extract<EventBody, { type: 'job_terminal' }>

/** `Body`: the event as it is with its values. */
export abstract class LazyEvent<Body extends EventBody = EventBody> {
  #body: Body | null = null
  #preparing: Promise<void> | null = null

  /** The event as JSON text. */
  abstract readonly text: string
  /** The JSON text of which its values are made. */
  protected abstract readonly source: string | null
  protected abstract bodyWith(parsed: unknown): Body

  get body(): Body {
    this.#body ??= this.bodyWith(this.source === null ? null : JSON.parse(this.source))
    return this.#body
  }

  /** Whether it takes long to pass on. */
  get isLarge(): boolean {
    return isLargeText(this.source)
  }

  /** Characters of the text of which its values are made. */
  get length(): number {
    return this.source?.length ?? 0
  }

  /** Makes `body` in time slices of its owner, once for all who ask for it meanwhile; null where there is nothing long to do. */
  prepareBody(slices: Pick<TimeSliceScheduler, 'run'>, owner: string): Promise<void> | null {
    if (this.#body !== null || !this.isLarge) return null
    this.#preparing ??= slices.run(owner, this.#bodySteps()).finally(() => {
      this.#preparing = null
    })
    return this.#preparing
  }

  *#bodySteps(): Steps<void> {
    this.#body = this.bodyWith(yield* makeMeasuredSteps(parseJsonTextSteps(this.source!)))
  }

  toJSON(): Body {
    return this.body
  }
}

/** A stored event with a large value of an output. */
export class LazyOutputEvent extends LazyEvent<OutputUpdateBody> {
  readonly type = 'output_update'
  protected readonly source: string

  constructor(payload: string) {
    super()
    this.source = payload
  }

  get text(): string {
    return `{"type":"${this.type}",${this.source.slice(1)}`
  }

  protected bodyWith(parsed: unknown): OutputUpdateBody {
    return { type: this.type, ...(parsed as object) } as OutputUpdateBody
  }

  get output_name(): string {
    return this.body.output_name
  }

  get value(): unknown {
    return this.body.value
  }

  get asset(): unknown {
    return 'asset' in this.body ? this.body.asset : undefined
  }
}

/** The snapshot of a job that has ended, and its result as JSON text. */
export interface EndSnapshot {
  readonly rest: Omit<JobSnapshot, 'result'>
  readonly result: string | null
}

/** A snapshot as JSON text. Its result is JSON already, and may be long: it is neither parsed nor written anew. */
export function formatEndSnapshot({ rest, result }: EndSnapshot): string {
  return appendJsonMember(rest, 'result', result ?? 'null')
}

/** The end of a job. A class: of an object that is written down with a getter the engine keeps a shape of its own, and with it all that the getter sees. */
export class LazyTerminalEvent extends LazyEvent<JobTerminalBody> {
  readonly type = 'job_terminal'
  readonly status: JobTerminalBody['status']
  readonly #snapshot: EndSnapshot

  constructor(status: JobTerminalBody['status'], snapshot: EndSnapshot) {
    super()
    this.status = status
    this.#snapshot = snapshot
  }

  get text(): string {
    const { type, status } = this
    return appendJsonMember({ type, status }, 'snapshot', formatEndSnapshot(this.#snapshot))
  }

  protected get source(): string | null {
    return this.#snapshot.result
  }

  protected bodyWith(result: unknown): JobTerminalBody {
    const { type, status } = this
    return { type, status, snapshot: { ...this.#snapshot.rest, result } } as JobTerminalBody
  }

  get snapshot(): JobTerminalBody['snapshot'] {
    return this.body.snapshot
  }
}
