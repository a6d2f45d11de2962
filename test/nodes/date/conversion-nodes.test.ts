// date.*: making, reading, writing and splitting dates. Arithmetic is in arithmetic-nodes.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { takesLess } from '../../helpers/patience.ts'
import { scaled } from '../../helpers/scale.ts'
import { putIntoWeakMaps } from '../../helpers/weak-maps.ts'
import { fire, outputOf } from '../fire.ts'

const LEAP = '2024-02-29T10:00:00Z'

describe('date', () => {
  test('Now', async () => {
    const before = Date.now()
    const now = (await outputOf('date.Now')) as string
    assert.match(now, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    assert.ok(Date.parse(now) >= before && Date.parse(now) <= Date.now())
    assert.match((await outputOf('date.Now', { zone: 'Asia/Kolkata' })) as string, /\+05:30$/)
    await assert.rejects(outputOf('date.Now', { zone: 'Mars' }), /unknown_zone/)
  })

  test('FromUnix', async () => {
    const of = (value: unknown, more = {}) => outputOf('date.FromUnix', { value, ...more })
    assert.equal(await of(1_700_000_000.5), '2023-11-14T22:13:20.5Z')
    assert.equal(await of(1_700_000_000_500, { unit: 'millisecond', zone: '+01:00' }), '2023-11-14T23:13:20.5+01:00')
    assert.equal(await of(0), '1970-01-01T00:00:00Z')
    assert.equal(await of(-62_167_219_200), '0000-01-01T00:00:00Z')
    await assert.rejects(of(-62_167_219_201), /out_of_range: .* in the year -1/)
    await assert.rejects(of(1e20), /out_of_range/)
    await assert.rejects(of('now'), /type_mismatch/)
  })

  test('FromParts', async () => {
    const of = (data: Record<string, unknown>) => outputOf('date.FromParts', data)
    assert.equal(await of({ year: 2024, month: 2, day: 29, hour: 7, second: 1.25 }), '2024-02-29T07:00:01.25Z')
    assert.equal(await of({ year: 0 }), '0000-01-01T00:00:00Z')
    assert.equal(await of({ year: 2024, month: 3, day: 31, hour: 2, minute: 30, zone: 'Europe/Berlin' }), GAP)
    await assert.rejects(of({ year: 2023, month: 2, day: 29 }), /bad_date: "2023-2-29 .*there is no such day/)
    await assert.rejects(of({ year: 10_000 }), /must be at most 9999/)
  })

  test('Parts', async () => {
    const parts = await fire('date.Parts', { date: '2024-12-30T10:05:00.25+02:00' })
    assert.deepEqual(parts, {
      ...{ year: 2024, quarter: 4, month: 12, week: 1, week_year: 2025, day: 30, weekday: 1, day_of_year: 365 },
      ...{ days_in_month: 31, leap_year: true, hour: 10, minute: 5, second: 0.25, offset: 120, unix: 1735545900.25 },
    })
    const elsewhere = await fire('date.Parts', { date: '2024-12-31T23:30:00Z', zone: 'Pacific/Auckland' })
    assert.deepEqual([elsewhere.year, elsewhere.day, elsewhere.hour], [2025, 1, 12])
    await assert.rejects(fire('date.Parts', { date: '' }), /bad_date/)
  })

  test('InZone', async () => {
    const of = (date: string, zone: string) => outputOf('date.InZone', { date, zone })
    assert.equal(await of('2024-07-01T12:00:00Z', 'America/New_York'), '2024-07-01T08:00:00-04:00')
    assert.equal(await of('2024-07-01T12:00:00.123456789+02:00', 'utc'), '2024-07-01T10:00:00.123456789Z')
    assert.equal(await of('1880-01-01T00:00:00Z', 'Europe/Berlin'), '1880-01-01T00:53:00+00:53')
    await assert.rejects(
      of('', 'UTC'),
      /bad_date: "" is not a date\. A date has a form such as .* reads other forms with `format`\./,
    )
    await assert.rejects(of('0000-01-01T00:00:00Z', '-02:00'), /out_of_range/)
  })
})

const GAP = '2024-03-31T03:30:00+02:00'

describe('a date is read', () => {
  const READ: [string, string, string][] = [
    ['2024-02-29', '', '2024-02-29T00:00:00Z'],
    ['2024-02-29', 'Europe/Berlin', '2024-02-29T00:00:00+01:00'],
    [' 2024-02-29 10:00 ', '', LEAP],
    ['2024-02-29t10:00:00z', '', LEAP],
    ['2024-02-29T10:00+0530', '', '2024-02-29T10:00:00+05:30'],
    ['2024-02-29T10:00:00-00:00', '', LEAP],
    ['2016-12-31T23:59:60Z', '', '2016-12-31T23:59:59Z'],
    ['2024-03-31T02:30', 'Europe/Berlin', GAP],
    ['2024-10-27T02:30', 'Europe/Berlin', '2024-10-27T02:30:00+02:00'],
    ['2024-10-27T02:30+01:00', 'Europe/Berlin', '2024-10-27T02:30:00+01:00'],
    ['2011-12-30T12:00', 'Pacific/Apia', '2011-12-31T12:00:00+14:00'],
  ]
  for (const [text, zone, result] of READ) {
    test(`${text} of ${zone || 'no zone'}`, async () => {
      assert.equal(await outputOf('date.Parse', { text, zone }), result)
    })
  }

  const BAD = [
    '',
    'today',
    '2024-02-30',
    '2023-02-29',
    '2024-13-01',
    '2024-1-1',
    '2024-01-01T24:00',
    '2024-01-01T10:60',
  ]
  for (const text of [...BAD, '2024-01-01T10:00+25:00', '12024-01-01', '9'.repeat(10_000)]) {
    test(`"${text.slice(0, 30)}" is not a date`, async () => {
      await assert.rejects(outputOf('date.Parse', { text }), /bad_date/)
      assert.equal(await outputOf('date.Parse', { text, default: 'none' }), 'none')
    })
  }

  const ZONES: [string, RegExp][] = [
    ['Berlin', /unknown_zone: "Berlin" is not a known zone\. Did you mean "Europe\/Berlin"\?/],
    ['Europe/Berln', /Did you mean "Europe\/Berlin"\?/],
    ['new york', /Did you mean "America\/New_York"\?/],
    ['+25:00', /A zone is a name such as "Europe\/Berlin"/],
    ['__proto__', /unknown_zone/],
    ['x'.repeat(10_000), /unknown_zone/],
  ]
  for (const [zone, message] of ZONES) {
    test(`${zone.slice(0, 20)} is not a zone, even if there is a default`, async () => {
      const parsed = outputOf('date.Parse', { text: '2024-01-01', zone, default: 'none' })
      await assert.rejects(parsed, (error: Error) => message.test(error.message) && error.message.length < 300)
    })
  }
})

describe('a date is read by a pattern', () => {
  const READ: [string, string, string, object?][] = [
    ['31.03.2024 02:30', 'dd.MM.yyyy HH:mm', GAP, { zone: 'Europe/Berlin' }],
    ['Tue, 15 Nov 1994 08:12:31 GMT', "EEE, dd MMM yyyy HH:mm:ss 'GMT'", '1994-11-15T08:12:31Z'],
    ["3. märz 2024 5 o'clock", "d. MMMM yyyy H 'o''clock'", '2024-03-03T05:00:00Z', { locale: 'de' }],
    ['3 Sept 24', 'd MMM yy', '2024-09-03T00:00:00Z', { locale: 'en_GB' }],
    ['March 3, 1969 12:05 am', 'MMMM d, yyyy h:mm a', '1969-03-03T00:05:00Z'],
    ['1/2/69 12 PM', 'M/d/yy hh a', '1969-01-02T12:00:00Z'],
    ['20240303T100000.123456+0530', "yyyyMMdd'T'HHmmss.SSSSSSX", '2024-03-03T04:30:00.123456Z', { zone: 'UTC' }],
    ['2024-03-03 10:00 Europe/Berlin', 'yyyy-MM-dd HH:mm VV', '2024-03-03T10:00:00+01:00'],
    ['2024', 'y', '2024-01-01T00:00:00Z'],
    ['2024-03-03 10:00Z', 'yyyy-MM-dd HH:mmXXX', '2024-03-03T10:00:00Z'],
  ]
  for (const [text, format, result, more] of READ) {
    test(text, async () => assert.equal(await outputOf('date.Parse', { text, format, ...more }), result))
  }

  const BAD: [string, string, RegExp][] = [
    ['', 'yyyy', /bad_date: "" does not fit the pattern: "yyyy" was expected, not its end/],
    ['2024-1x', 'yyyy-MM', /"MM" was expected, not "1x" at position 6/],
    ['2024 ', 'yyyy-MM', /"-" was expected, not its end/],
    ['2024-01-01', 'yyyy-MM', /the end was expected, not "-01" at position 8/],
    ['2024-01-01T00:00:00', 'yyyy-MM', /the end was expected, not "-01T00:00:…" at position 8/],
    ['2024-02-30', 'yyyy-MM-dd', /bad_date: .* there is no such day/],
    ['2024 13 PM', 'yyyy hh a', /clock has no hour 13/],
    ['12:00', 'HH:mm', /bad_pattern: The pattern needs a year/],
    ['2024', 'YYYY', /bad_pattern: "YYYY" has no meaning .* Did you mean "yyyy"\?/],
    ['2024', 'yyyyT', /Put text in single quotes/],
    ['2024', "yyyy'", /has a single quote that is not closed/],
    ['2024 1', 'yyyy Q', /"Q" can only be written/],
    ['2024', 'y'.repeat(300), /longer than 200 characters/],
    ['2024 constructor', 'yyyy constructor', /bad_pattern/],
    ['2024 +9900', 'yyyy x', /"x" was expected/],
  ]
  for (const [text, format, message] of BAD) {
    test(`${text} does not match ${format.slice(0, 20)}`, () =>
      assert.rejects(outputOf('date.Parse', { text, format }), message))
  }

  test('reading goes once from left to right, however many ways there are', async () => {
    const [text, format] = [`${'1'.repeat(150)}x`, 'dM'.repeat(50)]
    await takesLess(1000, () => assert.rejects(outputOf('date.Parse', { text, format }), /bad_date/))
  })
})

describe('date.Format', () => {
  const of = (format: string, more = {}) => outputOf('date.Format', { date: LEAP, format, ...more })

  test('patterns', async () => {
    const german = { locale: 'de', zone: 'Europe/Berlin' }
    assert.equal(await of('EEEE, d. MMMM yyyy HH:mm XXX', german), 'Donnerstag, 29. Februar 2024 11:00 +01:00')
    assert.equal(await of("hh 'o''clock' a, 'Q'Q, 'week' ww, DDD yy"), "10 o'clock AM, Q1, week 09, 060 24")
    assert.equal(await of('HHmmss.SSS x xx xxx X VV'), '100000.000 +00 +0000 +00:00 Z UTC')
    assert.equal(await outputOf('date.Format', { date: LEAP }), '2024-02-29 10:00')
    assert.equal(await of(''), '')
    await assert.rejects(of('Y'), /bad_pattern/)
    await assert.rejects(outputOf('date.Format', { date: 'x', format: 'y' }), /bad_date/)
  })

  test('styles of a language, in the Gregorian calendar', async () => {
    assert.equal(await of('short_date', { locale: 'de' }), '29.02.24')
    assert.match(
      (await of('full', { locale: 'en', zone: 'Asia/Tokyo' })) as string,
      /Thursday, February 29, 2024.*7:00/,
    )
    assert.match((await of('long_date', { locale: 'th' })) as string, /2024|๒๐๒๔/)
    for (const locale of ['xx-1', '', 'zz', 'x'.repeat(10_000)])
      await assert.rejects(of('long', { locale }), /unknown_locale/)
  })
})

const ZONES = ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Asia/Kathmandu', 'Pacific/Apia', '-03:30']
const epochs = fc.integer({ min: -2_000_000_000_000, max: 4_000_000_000_000 })

test('a moment stays the same in every zone, and reads back from a pattern', async () => {
  const property = fc.asyncProperty(epochs, fc.constantFrom(...ZONES), async (epoch, zone) => {
    const date = (await outputOf('date.InZone', { date: new Date(epoch).toISOString(), zone })) as string
    assert.equal(Date.parse(date), epoch)
    const format = "EEEE d MMMM yyyy 'at' h:mm:ss.SSS a XXX"
    const text = await outputOf('date.Format', { date, format, zone })
    assert.equal(Date.parse((await outputOf('date.Parse', { text, format, zone })) as string), Math.trunc(epoch))
  })
  await fc.assert(property, { numRuns: scaled(100) })
})

// Garbage collection scans WeakMaps while it blocks the process, and a stream may make millions of dates.
test('dates are in no WeakMap', async () => {
  const zone = 'Europe/Berlin'
  const inputs: Record<string, Record<string, unknown>> = {
    'date.FromUnix': { value: 1, unit: 'second', zone },
    'date.Parse': { text: '2024-02-29 10:00', format: '', zone, locale: 'en', default: null },
    'date.Format': { date: LEAP, format: 'long', zone, locale: 'de' },
    'date.Parts': { date: LEAP, zone },
    'date.InZone': { date: LEAP, zone },
    'date.Add': { date: LEAP, years: 0, months: 1, weeks: 0, days: 0, hours: 0, minutes: 0, seconds: 0, zone },
    'date.Difference': { from: LEAP, to: '2025-02-28T10:00:00Z', unit: 'month', zone },
    'date.Period': { date: LEAP, unit: 'week', week_start: 'monday', zone },
    'date.Compare': { a: LEAP, op: '<', b: LEAP },
  }
  const runs = Object.entries(inputs).map(([name, given]) => {
    const run = builtinRegistry.get(name)!.run as unknown as (given: Record<string, unknown>) => unknown
    return () => run(given)
  })
  const all = () => runs.map((run) => run())
  all()
  const put = await putIntoWeakMaps(all)
  assert.equal(put, 0)
})
