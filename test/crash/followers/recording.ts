// The events of one follower of a job, over all lives of the server. The follower continues from its last sequence.
import type { JobEvent } from '../../../generated/types.ts'
import { schemaValidators } from '../../../generated/validators-out.js'

export class Recording {
  readonly follower: string
  readonly events: JobEvent[] = []
  /** Events that do not match the contract. */
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

  /** The status from the events so far. */
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
