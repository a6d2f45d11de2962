// Events whose values may be large. Their JSON text is stored; it is parsed only for readers that need the values, and in time slices where that takes
// long. Writers that forward the text do not parse it.
import type { JobSnapshot } from '../../generated/types.ts'
import { makeMeasuredSteps } from '../engine/node-api/values/measure.ts'
import { parseJsonSteps } from '../payloads/incremental-json-parser.ts'
import { appendJsonMember } from '../shared/json.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'
import type { EventBody } from './types.ts'

/** A JSON text with more characters is parsed in steps. Parsing a shorter text takes a few milliseconds at most. */
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

/** `Body` is the type of the event with its values. */
export abstract class LazyEvent<Body extends EventBody = EventBody> {
  #body: Body | null = null
  #preparing: Promise<void> | null = null

  /** The event as JSON text. */
  abstract readonly text: string
  /** The JSON text that is parsed into the values. */
  protected abstract readonly source: string | null
  protected abstract bodyWith(parsed: unknown): Body

  get body(): Body {
    this.#body ??= this.bodyWith(this.source === null ? null : JSON.parse(this.source))
    return this.#body
  }

  /** Whether the event is slow to parse or forward. */
  get isLarge(): boolean {
    return isLargeText(this.source)
  }

  /** Characters of the text that is parsed into the values. */
  get length(): number {
    return this.source?.length ?? 0
  }

  /** Parses `body` in time slices of the owner, once for all concurrent callers; null where no long work is left. */
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

/** A stored event with a large output value. */
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

/** A snapshot as JSON text. The result is JSON text already, which may be long, so it is neither parsed nor serialized again. */
export function formatEndSnapshot({ rest, result }: EndSnapshot): string {
  return appendJsonMember(rest, 'result', result ?? 'null')
}

/** The end of a job. It is a class since V8 keeps a hidden class for each object literal with a getter, and with it all that the getter captures. */
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
