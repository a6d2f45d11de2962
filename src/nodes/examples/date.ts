// Examples of nodes for dates and times.
import type { NodeExamples } from './node-example.ts'

export const dateExamples: NodeExamples = {
  'date.Add': { data: { date: '2026-01-31T09:00:00Z', months: 1 }, outputs: { output: '2026-02-28T09:00:00Z' } },
  'date.Compare': {
    data: { a: '2026-03-31T12:00:00+02:00', op: '==', b: '2026-03-31T10:00:00Z' },
    outputs: { output: true },
  },
  'date.Difference': {
    data: { from: '2026-01-15T00:00:00Z', to: '2026-03-01T00:00:00Z', unit: 'month' },
    outputs: {
      output: 1.5,
      whole: 1,
      parts: { years: 0, months: 1, weeks: 0, days: 14, hours: 0, minutes: 0, seconds: 0 },
    },
  },
  'date.Format': {
    data: { date: '2026-07-04T18:30:00Z', format: 'EEEE, d. MMMM yyyy', locale: 'de' },
    outputs: { output: 'Samstag, 4. Juli 2026' },
  },
  'date.FromParts': {
    data: { year: 2026, month: 12, day: 24, hour: 18, zone: 'Europe/Berlin' },
    outputs: { output: '2026-12-24T18:00:00+01:00' },
  },
  'date.FromUnix': { data: { value: 1767225600 }, outputs: { output: '2026-01-01T00:00:00Z' } },
  'date.InZone': {
    data: { date: '2026-07-04T18:30:00Z', zone: 'Asia/Tokyo' },
    outputs: { output: '2026-07-05T03:30:00+09:00' },
  },
  'date.Now': {
    data: { zone: 'Europe/Berlin' },
    outputs: { output: '2026-03-31T09:30:00+02:00' },
    note: 'The result is the time at which the run reaches the node.',
  },
  'date.Parse': { data: { text: '4 July 2026', format: 'd MMMM yyyy' }, outputs: { output: '2026-07-04T00:00:00Z' } },
  'date.Parts': {
    data: { date: '2026-07-04T18:30:00Z' },
    outputs: { year: 2026, quarter: 3, month: 7, week: 27, day: 4, weekday: 6, hour: 18, minute: 30 },
  },
  'date.Period': {
    data: { date: '2026-07-04T18:30:00Z', unit: 'month' },
    outputs: { start: '2026-07-01T00:00:00Z', end: '2026-07-31T23:59:59.999Z', next: '2026-08-01T00:00:00Z' },
  },
  'date.Range': {
    data: { from: '2026-01-31T00:00:00Z', to: '2026-05-01T00:00:00Z', unit: 'month' },
    outputs: {
      output: ['2026-01-31T00:00:00Z', '2026-02-28T00:00:00Z', '2026-03-31T00:00:00Z', '2026-04-30T00:00:00Z'],
      days: ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30'],
    },
  },
}
