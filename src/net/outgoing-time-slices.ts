import { TimeSliceScheduler } from '../shared/time-slices.ts'

/** Of long work on what nodes send and receive: one slice of it in each turn, however many bodies there are. */
export const outgoingTimeSlices = new TimeSliceScheduler()
