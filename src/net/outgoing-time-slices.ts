import { TimeSliceScheduler } from '../shared/time-slices.ts'

/**
 * Schedules long work on the bodies that nodes send and receive. Each turn of the event loop has one slice, however many bodies there are.
 */
export const outgoingTimeSlices = new TimeSliceScheduler()
