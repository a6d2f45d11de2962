// Turns of the event loop: a preflight may look at very much, and others have theirs in between. It ends where nobody waits for it any more.
import { ServiceError } from '../../errors.ts'
import { OwnerTimeSlices, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'

export class AbortableTimeSlices extends OwnerTimeSlices {
  readonly #signal: AbortSignal

  constructor(slices: TimeSliceScheduler, owner: string, signal: AbortSignal) {
    super(slices, owner)
    this.#signal = signal
  }

  /** @throws SERVICE_UNAVAILABLE where the signal has aborted */
  override async next(): Promise<void> {
    await super.next()
    if (this.#signal.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
  }

  /** Does the work in these turns. @throws as `next` */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      if (this.over) await this.next()
      const step = steps.next()
      if (step.done) return step.value
    }
  }
}
