// AbortableTimeSlices lets other work run during a long preflight, and ends the preflight when the client no longer waits.
import { ServiceError } from '../../errors.ts'
import { OwnerTimeSlices, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'

export class AbortableTimeSlices extends OwnerTimeSlices {
  readonly #signal: AbortSignal

  constructor(slices: TimeSliceScheduler, owner: string, signal: AbortSignal) {
    super(slices, owner)
    this.#signal = signal
  }

  /** @throws SERVICE_UNAVAILABLE if the signal has aborted */
  override async next(): Promise<void> {
    await super.next()
    if (this.#signal.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
  }

  /** Runs steps in these time slices. @throws what `next` throws */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      if (this.over) await this.next()
      const step = steps.next()
      if (step.done) return step.value
    }
  }
}
