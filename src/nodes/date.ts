// date.*: moments as texts (RFC 3339, with an offset), made, read, written and taken apart. Counting with them is in date-math.ts.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { checkRead, checkWritten, writePattern } from './date-patterns.ts'
import { readWith } from './date-read.ts'
import { isStyle, localeOf, wordsOf, writeStyle } from './date-words.ts'
import { option, output, required } from './define.ts'
import { temporalLibrary } from './libraries.ts'
import { fractionFields, inCalendar, localMoment, plainDateTime, readDate, writeDate, zoneOf } from './moments.ts'

export const date = (name = 'date') => required(name, 'str', 'The date, such as `2026-03-31T09:30:00+02:00`.')
export const zone = () =>
  option(
    'zone',
    'str',
    'The zone whose clock and calendar count, such as `Europe/Berlin`; without: that of the date.',
    {
      default: '',
    },
  )
const outZone = () => option('zone', 'str', 'The zone, such as `Europe/Berlin` or `+02:00`.', { default: 'UTC' })
const locale = () => option('locale', 'str', 'The language of words, such as `en` or `de-CH`.', { default: 'en' })

const FORM = 'A pattern such as `dd.MM.yyyy HH:mm` (letters of TR35: y M d E H h a m s S X VV; text in single quotes)'

interface Parse {
  text: string
  format: string
  zone: string
  locale: string
  default: string | null
}

function parse({ text, format, zone, locale, default: otherwise }: Parse): string {
  try {
    return writeDate(format === '' ? readDate(text, zone) : readWith(text.trim(), format, zone, locale))
  } catch (error) {
    if (otherwise === null || !(error instanceof NodeError) || error.type !== 'bad_date') throw error
    return otherwise
  }
}

const SCALE = { second: 1000, millisecond: 1 }

function fromUnix(value: number, unit: keyof typeof SCALE, zone: string): string {
  const epoch = Math.round(value * SCALE[unit])
  const { Temporal } = temporalLibrary()
  return writeDate(inCalendar(() => Temporal.Instant.fromEpochMilliseconds(epoch).toZonedDateTimeISO(zoneOf(zone))))
}

interface Clock {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
  zone: string
}

function make({ zone, second, ...fields }: Clock): string {
  const { year, month, day, hour, minute } = fields
  const nanoseconds = Math.round(second * 1e9)
  const whole = Math.floor(nanoseconds / 1e9)
  const fraction = String(nanoseconds % 1e9).padStart(9, '0')
  const text = `${year}-${month}-${day} ${hour}:${minute}:${second}`
  return writeDate(
    localMoment(plainDateTime({ ...fields, second: whole, ...fractionFields(fraction) }, text), zoneOf(zone)),
  )
}

function write(text: string, format: string, zone: string, locale: string): string {
  const moment = readDate(text, zone)
  const language = localeOf(locale)
  return isStyle(format) ? writeStyle(moment, format, language) : writePattern(moment, format, wordsOf(language))
}

export const dateNodes: NodeType[] = [
  {
    node_type: 'date.Now',
    title: 'Now',
    description: 'Gives the present date and time, by the clock of the run.',
    properties: [outZone()],
    outputs: [output('output', 'str')],
    run: ({ zone }: { zone: string }, context) => ({ output: fromUnix(context.clock.now(), 'millisecond', zone) }),
  },
  {
    node_type: 'date.Parse',
    title: 'Read date',
    description:
      'Reads a date out of a text. A time that clocks skip is moved on by the gap; of a time that comes twice it is the first.',
    properties: [
      required('text', 'str', 'The text.'),
      option('format', 'str', `${FORM}; empty reads RFC 3339 and ISO 8601.`, { default: '' }),
      option(
        'zone',
        'str',
        'The zone of texts that name none, and of the result; without: UTC, or what the text names.',
        {
          default: '',
        },
      ),
      locale(),
      option('default', 'str?', 'What to give where the text is no such date; without it that is an error.'),
    ],
    outputs: [output('output', 'str')],
    expressions: { format: (own: string) => own !== '' && checkRead(own) },
    run: (inputs) => ({ output: parse(inputs as unknown as Parse) }),
  },
  {
    node_type: 'date.FromUnix',
    title: 'Date from Unix time',
    description: 'Makes a date out of the time that has passed since 1970, as computers count it.',
    properties: [
      required('value', 'float', 'How much has passed since 1970-01-01T00:00:00Z.'),
      option('unit', oneOf(...Object.keys(SCALE)), 'What is counted.', { default: 'second' }),
      outZone(),
    ],
    outputs: [output('output', 'str')],
    run: ({ value, unit, zone }: { value: number; unit: keyof typeof SCALE; zone: string }) => ({
      output: fromUnix(value, unit, zone),
    }),
  },
  {
    node_type: 'date.FromParts',
    title: 'Date from parts',
    description:
      'Makes a date out of its year, month and day, and a time. A time that clocks skip is moved on by the gap; of a time that comes twice it is the first.',
    properties: [
      required('year', 'int', 'The year.', { min: 0, max: 9999 }),
      option('month', 'int', 'The month.', { default: 1, min: 1, max: 12 }),
      option('day', 'int', 'The day of the month; it has to exist.', { default: 1, min: 1, max: 31 }),
      option('hour', 'int', 'The hour.', { default: 0, min: 0, max: 23 }),
      option('minute', 'int', 'The minute.', { default: 0, min: 0, max: 59 }),
      option('second', 'float', 'The second, with its fractions.', { default: 0, min: 0, max: 59.999999999 }),
      outZone(),
    ],
    outputs: [output('output', 'str')],
    run: (inputs) => ({ output: make(inputs as unknown as Clock) }),
  },
  {
    node_type: 'date.Format',
    title: 'Write date',
    description:
      'Writes a date by a pattern, or in a style of the language: short, medium, long or full, with _date or _time for one half of it.',
    properties: [
      date(),
      option('format', 'str', `${FORM}, or a style such as \`long\` or \`short_date\`.`, {
        default: 'yyyy-MM-dd HH:mm',
      }),
      zone(),
      locale(),
    ],
    outputs: [output('output', 'str')],
    expressions: { format: (own: string) => isStyle(own) || checkWritten(own) },
    run: ({ date, format, zone, locale }: { date: string; format: string; zone: string; locale: string }) => ({
      output: write(date, format, zone, locale),
    }),
  },
  {
    node_type: 'date.Parts',
    title: 'Parts of date',
    description:
      'Takes a date apart. Weekdays are 1 (Monday) to 7, weeks those of ISO 8601; offset is minutes ahead of UTC, unix seconds since 1970.',
    properties: [date(), zone()],
    outputs: [
      ...['year', 'quarter', 'month', 'week', 'week_year', 'day', 'weekday', 'day_of_year', 'days_in_month'].map(
        (name) => output(name, 'int'),
      ),
      output('leap_year', 'bool'),
      ...['hour', 'minute'].map((name) => output(name, 'int')),
      output('second', 'float'),
      output('offset', 'float'),
      output('unix', 'float'),
    ],
    run({ date, zone }: { date: string; zone: string }) {
      const moment = readDate(date, zone)
      const { year, month, day, hour, minute, dayOfYear, daysInMonth, inLeapYear } = moment
      const nanoseconds = moment.millisecond * 1e6 + moment.microsecond * 1e3 + moment.nanosecond
      return {
        ...{ year, quarter: Math.ceil(month / 3), month, week: moment.weekOfYear, week_year: moment.yearOfWeek, day },
        ...{ weekday: moment.dayOfWeek, day_of_year: dayOfYear, days_in_month: daysInMonth, leap_year: inLeapYear },
        ...{ hour, minute, second: (moment.second * 1e9 + nanoseconds) / 1e9 },
        ...{ offset: moment.offsetNanoseconds / 60e9, unix: moment.epochMilliseconds / 1000 },
      }
    },
  },
  {
    node_type: 'date.InZone',
    title: 'In zone',
    description: 'Writes the same moment with the clock of another zone.',
    properties: [date(), required('zone', 'str', 'The zone, such as `Europe/Berlin`, `UTC` or `+02:00`.')],
    outputs: [output('output', 'str')],
    run: ({ date, zone }: { date: string; zone: string }) => ({ output: writeDate(readDate(date, zoneOf(zone))) }),
  },
]
