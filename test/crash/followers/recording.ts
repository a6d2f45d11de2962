// What one follower was given of one job, over all lives of the server: it goes on from the last sequence that it has.
import type { JobEvent } from '../../../generated/types.ts'
import { schemaValidators } from '../../../generated/validators-out.js'

export class Recording {
  readonly follower: string
  readonly events: JobEvent[] = []
  /** Events that are not what the contract says. */
  readonly invalid: string[] = []

  constructor(follower: string) {
    this.follower = follower
  }

  get last(): number {
    return this.events.at(-1)?.sequence ?? 0
  }

  get ended(): boolean {
    return this.events.at(-1)?.type === 'job_terminal'
  }

  /** The status by what was told so far. */
  get status(): string | null {
    const last = this.events.findLast(({ type }) => type === 'job_status' || type === 'job_terminal')
    return last && 'status' in last ? last.status : null
  }

  take(event: JobEvent): void {
    const validate = schemaValidators.JobEvent!
    if (!validate(event)) this.invalid.push(`${JSON.stringify(validate.errors)} in ${JSON.stringify(event)}`)
    this.events.push(event)
  }
}
