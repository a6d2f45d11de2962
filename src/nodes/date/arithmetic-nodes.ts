// date.*: arithmetic with moments; periods are in period-node.ts. Years to days go by the calendar of a zone, hours and less by elapsed
// time.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import {
  COMPARISON_OPERATOR_TYPE,
  COMPARISON_OPERATORS,
  type ComparisonOperator,
} from '../comparison-and-logic-nodes.ts'
import { createMoment, momentFromLocal, readDate, writeDate, type ZonedMoment } from '../shared/date-time.ts'
import { costOfDates } from '../shared/firing-costs.ts'
import { temporalLibrary } from '../shared/lazy-libraries.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import { dateProperty, zoneProperty } from './conversion-nodes.ts'
import { type DateUnit, measureDifference } from './difference.ts'

/** An amount that moves a date. Each part may be negative. */
interface DateSpan {
  years: number
  months: number
  weeks: number
  days: number
  hours: number
  minutes: number
  seconds: number
}

const NO_SPAN: DateSpan = { years: 0, months: 0, weeks: 0, days: 0, hours: 0, minutes: 0, seconds: 0 }

/**
 * Adds years and months first (a day that the month lacks becomes its last day), then weeks and days, all on the calendar alone. Then it
 * resolves the local time, and at last adds hours and less as elapsed time.
 */
function addSpan(moment: ZonedMoment, span: DateSpan): ZonedMoment {
  const months = span.years * 12 + span.months
  const days = span.weeks * 7 + span.days
  const seconds = span.hours * 3600 + span.minutes * 60 + span.seconds
  return createMoment(() => {
    const day = () => momentFromLocal(moment.toPlainDateTime().add({ months }).add({ days }), moment.timeZoneId)
    const from = months === 0 && days === 0 ? moment : day()
    const whole = Math.trunc(seconds)
    return from.add({ seconds: whole, nanoseconds: Math.round((seconds - whole) * 1e9) })
  })
}

const SPANS: Readonly<Record<DateUnit, (count: number) => DateSpan>> = {
  year: (years) => ({ ...NO_SPAN, years }),
  month: (months) => ({ ...NO_SPAN, months }),
  week: (weeks) => ({ ...NO_SPAN, weeks }),
  day: (days) => ({ ...NO_SPAN, days }),
  hour: (hours) => ({ ...NO_SPAN, hours }),
  minute: (minutes) => ({ ...NO_SPAN, minutes }),
  second: (seconds) => ({ ...NO_SPAN, seconds }),
}
const UNIT_TYPE = createEnumType(...(Object.keys(SPANS) as DateUnit[]))

/** In dates of one range: more than the days of fifty years. Each may cost a tenth of a millisecond. */
const MOST_DATES = 20_000

/** The format of the date part. */
const DAY_FORMAT = 'yyyy-MM-dd'

interface RangeInputs {
  from: string
  to: string
  step: number
  unit: DateUnit
  zone: string
  inclusive: boolean
}

/** Each date is counted from the first date, so that month ends are kept. */
function listDates({ from, to, step, unit, zone, inclusive }: RangeInputs): string[] {
  if (step === 0) throw new NodeError('The step must not be 0, because the range would never end.', 'bad_input')
  const start = readDate(from, zone)
  const end = readDate(to, zone)
  const dates: string[] = []
  const { compare } = temporalLibrary().Temporal.ZonedDateTime
  for (let at = start, count = 1; ; count++) {
    const order = compare(end, at) * Math.sign(step)
    if (order < 0 || (order === 0 && !inclusive)) return dates
    if (count > MOST_DATES) {
      const text = `The range would have more than ${MOST_DATES.toLocaleString('en')} dates. Take a longer step.`
      throw new NodeError(text, 'too_large')
    }
    dates.push(writeDate(at))
    try {
      at = addSpan(start, SPANS[unit](count * step))
    } catch (error) {
      // The next date lies beyond the last supported year, and therefore beyond the end.
      if (error instanceof NodeError && error.type === 'out_of_range') return dates
      throw error
    }
  }
}

const amountProperty = (name: keyof DateSpan, type = 'int') =>
  optionalProperty(name, type, `How many ${name} later; negative: earlier.`, { default: 0 })

export const dateArithmeticNodes: NodeType[] = [
  {
    node_type: 'date.Add',
    title: 'Move date',
    description:
      'Gives an earlier or later date. A day that a month lacks becomes its last day. A local time that clocks skip moves on by the gap; if it occurs twice, the first is used. Hours and less are elapsed time.',
    properties: [
      dateProperty(),
      ...(['years', 'months', 'weeks', 'days', 'hours', 'minutes'] as const).map((name) => amountProperty(name)),
      amountProperty('seconds', 'float'),
      zoneProperty(),
    ],
    outputs: [valueOutput('output', 'str')],
    run: ({ date, zone, ...span }) => ({
      output: writeDate(addSpan(readDate(date as string, zone as string), span as unknown as DateSpan)),
    }),
  },
  {
    node_type: 'date.Difference',
    title: 'Time between dates',
    description:
      'Gives the time from one date to another: with fractions, as a whole number, and in parts from the unit down. It counts like date.Add: from January 31 to February 28 is one month.',
    properties: [
      dateProperty('from'),
      dateProperty('to'),
      optionalProperty('unit', UNIT_TYPE, 'The unit to count. Days and more go by the calendar.', { default: 'day' }),
      zoneProperty(),
    ],
    outputs: [valueOutput('output', 'float'), valueOutput('whole', 'int'), valueOutput('parts', 'dict[str,float]')],
    run: ({ from, to, unit, zone }: { from: string; to: string; unit: DateUnit; zone: string }) =>
      measureDifference(readDate(from, zone), readDate(to, zone), unit),
  },
  {
    node_type: 'date.Range',
    title: 'Range of dates',
    description:
      'Lists the dates from one date up to, but not including, another; at most 20,000. Each is counted from the first date, so month ends are kept. `days` has the dates without times, such as `2026-03-31`.',
    properties: [
      dateProperty('from'),
      dateProperty('to'),
      optionalProperty('step', 'int', 'How many units apart; negative: backwards.', { default: 1 }),
      optionalProperty('unit', UNIT_TYPE, 'The unit of the step.', { default: 'day' }),
      optionalProperty('inclusive', 'bool', 'Includes the end if a step reaches it exactly.', { default: false }),
      zoneProperty(),
    ],
    cost: costOfDates,
    outputs: [valueOutput('output', 'list[str]'), valueOutput('days', 'list[str]')],
    run(inputs) {
      const dates = listDates(inputs as unknown as RangeInputs)
      return { output: dates, days: dates.map((date) => date.slice(0, DAY_FORMAT.length)) }
    },
  },
  {
    node_type: 'date.Compare',
    title: 'Compare dates',
    description: 'Compares two moments, whatever their zones are.',
    properties: [
      dateProperty('a'),
      optionalProperty('op', COMPARISON_OPERATOR_TYPE, 'How to compare.', { default: '<' }),
      dateProperty('b'),
    ],
    outputs: [valueOutput('output', 'bool')],
    run: ({ a, op, b }: { a: string; op: ComparisonOperator; b: string }) => ({
      output: COMPARISON_OPERATORS[op](temporalLibrary().Temporal.ZonedDateTime.compare(readDate(a), readDate(b)), 0),
    }),
  },
]
