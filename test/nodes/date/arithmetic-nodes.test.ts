// date.*: arithmetic with dates.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'

const berlin = { zone: 'Europe/Berlin' }

describe('date.Add', () => {
  const of = (date: string, span: object) => outputOf('date.Add', { date, ...span })

  const MOVED: [string, object, string][] = [
    ['2024-01-31', {}, '2024-01-31T00:00:00Z'],
    ['2024-01-31', { months: 1 }, '2024-02-29T00:00:00Z'],
    ['2023-01-31', { months: 1 }, '2023-02-28T00:00:00Z'],
    ['2024-02-29', { years: 1 }, '2025-02-28T00:00:00Z'],
    ['2024-02-29', { years: 4 }, '2028-02-29T00:00:00Z'],
    ['2024-02-29', { months: 1, days: -1, seconds: 0.25 }, '2024-03-28T00:00:00.25Z'],
    ['2024-03-31', { years: 1, months: -13, weeks: 1 }, '2024-03-07T00:00:00Z'],
    ['2024-01-01', { hours: -1, minutes: 30, seconds: -1.5 }, '2023-12-31T23:29:58.5Z'],
    ['2024-03-30T02:30:00+01:00', { days: 1, ...berlin }, '2024-03-31T03:30:00+02:00'],
    ['2024-03-30T02:30:00+01:00', { days: 2, ...berlin }, '2024-04-01T02:30:00+02:00'],
    ['2024-01-31T02:30:00+01:00', { months: 2, days: 1, ...berlin }, '2024-04-01T02:30:00+02:00'],
    ['2024-03-30T12:00:00+01:00', { hours: 24, ...berlin }, '2024-03-31T13:00:00+02:00'],
    ['2024-03-30T12:00:00+01:00', { days: 1 }, '2024-03-31T12:00:00+01:00'],
    ['2024-10-26T02:30:00+02:00', { days: 1, ...berlin }, '2024-10-27T02:30:00+02:00'],
    ['2024-10-27T02:30:00+02:00', { hours: 1, ...berlin }, '2024-10-27T02:30:00+01:00'],
    ['9999-12-31T23:59:59Z', { years: -9999 }, '0000-12-31T23:59:59Z'],
  ]
  for (const [date, span, result] of MOVED) {
    test(`${date} and ${JSON.stringify(span)}`, async () => assert.equal(await of(date, span), result))
  }

  test('refuses results outside of the supported years, and invalid dates', async () => {
    await assert.rejects(of('2024-02-29', { years: 8000 }), /out_of_range: The date would be in the year 10024/)
    for (const span of [{ years: 1e15 }, { minutes: Number.MAX_SAFE_INTEGER }, { seconds: 1e300 }, { days: -1e9 }])
      await assert.rejects(of('2024-02-29', span), /out_of_range/)
    await assert.rejects(of('', { days: 1 }), /bad_date/)
    await assert.rejects(of('2024-02-29', { days: 1.5 }), /type_mismatch/)
  })
})

describe('date.Difference', () => {
  const of = (from: string, to: string, data = {}) => fire('date.Difference', { from, to, ...data })
  const none = { years: 0, months: 0, weeks: 0, days: 0, hours: 0, minutes: 0, seconds: 0 }

  test('counts by the calendar, and by elapsed time', async () => {
    const [from, to] = ['2024-03-30T12:00:00+01:00', '2024-03-31T12:00:00+02:00']
    assert.deepEqual(await of(from, to, berlin), { output: 1, whole: 1, parts: { ...none, days: 1 } })
    const hours = await of(from, to, { unit: 'hour', ...berlin })
    assert.deepEqual(hours, { output: 23, whole: 23, parts: { ...none, hours: 23 } })
    const month = await of('2024-01-31', '2025-03-01', { unit: 'month' })
    assert.deepEqual([month.whole, month.parts], [13, { ...none, months: 13, days: 1 }])
    assert.ok(Math.abs((month.output as number) - (13 + 1 / 31)) < 1e-12)
    const years = await of('2000-02-29', '2024-02-28T12:00:00.5Z', { unit: 'year' })
    assert.deepEqual(years.parts, { ...none, years: 23, months: 11, days: 30, hours: 12, seconds: 0.5 })
  })

  test('uses the last day of a month for a day that the month lacks, in all three results', async () => {
    const ENDS: [string, string, string, number, object][] = [
      ['2026-01-31', '2026-02-28', 'month', 1, { months: 1 }],
      ['2024-02-29', '2025-02-28', 'year', 1, { years: 1 }],
      ['2026-03-31', '2026-02-28', 'month', -1, { months: -1 }],
      ['2024-02-29', '2023-02-28', 'year', -1, { years: -1 }],
      ['2025-12-31', '2027-02-28', 'month', 14, { months: 14 }],
    ]
    for (const [from, to, unit, count, parts] of ENDS)
      assert.deepEqual(await of(from, to, { unit }), { output: count, whole: count, parts: { ...none, ...parts } })
    const after = await of('2026-01-31', '2026-02-28T12:00:00Z', { unit: 'month' })
    assert.deepEqual([after.whole, after.parts], [1, { ...none, months: 1, hours: 12 }])
    assert.ok(Math.abs((after.output as number) - (1 + 0.5 / 31)) < 1e-12)
    const years = await of('2025-12-31', '2028-02-29', { unit: 'year' })
    assert.deepEqual([years.whole, years.parts], [2, { ...none, years: 2, months: 2 }])
    const last = await of('0000-01-01', '9999-12-31T23:59:59Z', { unit: 'year' })
    assert.equal(last.whole, 9999)
  })

  test('gives a whole number that agrees with the fraction', async () => {
    const moment = fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    const unit = fc.constantFrom('year', 'month', 'week', 'day', 'hour')
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Sao_Paulo')
    const property = fc.asyncProperty(moment, moment, unit, zone, async (from, to, unit, zone) => {
      const { output, whole } = await of(from.toISOString(), to.toISOString(), { unit, zone })
      assert.equal(Math.trunc(output as number) + 0, whole)
    })
    await fc.assert(property, { numRuns: scaled(100) })
  })

  test('counts between equal moments, and backwards', async () => {
    const same = await of('2024-03-30T12:00:00+01:00', '2024-03-30T11:00:00Z', { unit: 'week' })
    assert.deepEqual(same, { output: 0, whole: 0, parts: none })
    const back = await of('2024-01-10', '2024-01-01T12:00:00Z', { unit: 'week' })
    assert.deepEqual(back.parts, { ...none, weeks: -1, days: -1, hours: -12 })
    assert.equal((await of('0000-01-01', '9999-12-31T23:59:59Z', { unit: 'second' })).whole, 315_569_519_999)
  })

  test('refuses invalid dates and units', async () => {
    await assert.rejects(of('2024-01-01', ''), /bad_date/)
    await assert.rejects(of('2024-01-01', '2024-01-01', { unit: 'days' }), /type_mismatch/)
  })
})

describe('date.Period', () => {
  const of = (unit: string, more = {}) => fire('date.Period', { date: '2024-02-29T12:34:56.7Z', unit, ...more })
  const PERIODS: [string, string, string][] = [
    ['minute', '2024-02-29T12:34:00Z', '2024-02-29T12:35:00Z'],
    ['hour', '2024-02-29T12:00:00Z', '2024-02-29T13:00:00Z'],
    ['day', '2024-02-29T00:00:00Z', '2024-03-01T00:00:00Z'],
    ['week', '2024-02-26T00:00:00Z', '2024-03-04T00:00:00Z'],
    ['month', '2024-02-01T00:00:00Z', '2024-03-01T00:00:00Z'],
    ['quarter', '2024-01-01T00:00:00Z', '2024-04-01T00:00:00Z'],
    ['year', '2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'],
  ]
  for (const [unit, start, next] of PERIODS) {
    test(unit, async () => {
      const made = await of(unit)
      assert.deepEqual([made.start, made.next], [start, next])
      assert.equal(Date.parse(made.end as string), Date.parse(next) - 1)
    })
  }

  test('supports other first days of weeks, days without their first hour, and the last year', async () => {
    assert.equal((await of('week', { week_start: 'sunday' })).start, '2024-02-25T00:00:00Z')
    assert.equal((await of('week', { week_start: 'saturday' })).start, '2024-02-24T00:00:00Z')
    const short = await of('day', { date: '2018-11-04T12:00:00Z', zone: 'America/Sao_Paulo' })
    assert.equal(short.start, '2018-11-04T01:00:00-02:00')
    const last = await of('year', { date: '9999-06-01' })
    assert.deepEqual(last, { start: '9999-01-01T00:00:00Z', end: '9999-12-31T23:59:59.999Z' })
  })

  test('refuses invalid dates', async () => {
    await assert.rejects(of('day', { date: '' }), /bad_date/)
    await assert.rejects(of('week', { date: '0000-01-01' }), /out_of_range/)
  })
})

describe('date.Range', () => {
  const of = (from: string, to: string, data = {}) => outputOf('date.Range', { from, to, ...data }) as Promise<string[]>
  const days = (dates: string[]) => dates.map((date) => date.slice(0, 10))

  test('counts from the first date, to or past the last', async () => {
    const ends = days(await of('2024-01-31', '2024-05-31', { unit: 'month', inclusive: true }))
    assert.deepEqual(ends, ['2024-01-31', '2024-02-29', '2024-03-31', '2024-04-30', '2024-05-31'])
    assert.deepEqual(days(await of('2024-01-31', '2024-01-29', { step: -1 })), ['2024-01-31', '2024-01-30'])
    assert.deepEqual(days(await of('9999-12-30', '9999-12-31', { inclusive: true })), ['9999-12-30', '9999-12-31'])
    const spring = await of('2024-03-30', '2024-04-02', berlin)
    assert.deepEqual(spring, ['2024-03-30T00:00:00+01:00', '2024-03-31T00:00:00+01:00', '2024-04-01T00:00:00+02:00'])
  })

  test('also gives the days without times, in the zone', async () => {
    const from = '2024-03-31T23:00:00Z'
    const { output, days } = await fire('date.Range', { from, to: '2024-04-02', unit: 'hour', step: 12, ...berlin })
    assert.deepEqual(output, ['2024-04-01T01:00:00+02:00', '2024-04-01T13:00:00+02:00'])
    assert.deepEqual(days, ['2024-04-01', '2024-04-01'])
    assert.deepEqual((await fire('date.Range', { from, to: from })).days, [])
  })

  test('is empty where it would go the wrong way', async () => {
    assert.deepEqual(await of('2024-01-31', '2024-01-29'), [])
    assert.deepEqual(await of('2024-01-31', '2024-01-31'), [])
  })

  test('refuses endless and very long ranges', async () => {
    await assert.rejects(of('2024-01-01', '2024-01-02', { step: 0 }), /bad_input: The step must not be 0/)
    await assert.rejects(of('0000-01-01', '9999-01-01', { unit: 'second' }), /too_large: .* more than 20,000 dates/)
    await assert.rejects(of('2024-01-01', ''), /bad_date/)
  })
})

test('date.Compare', async () => {
  const of = (op: string, b: string) => outputOf('date.Compare', { a: '2024-01-31T12:00:00+02:00', op, b })
  assert.equal(await of('==', '2024-01-31T10:00:00Z'), true)
  assert.equal(await of('<', '2024-01-31T11:00:00+01:00'), false)
  assert.equal(await of('<', '2024-01-31T10:00:00.001Z'), true)
  await assert.rejects(of('<', ''), /bad_date/)
})

test('a date moved by the difference to another date is that date', async () => {
  const epochs = fc.integer({ min: -1_000_000_000, max: 4_000_000_000 })
  const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Pacific/Apia')
  const units = fc.constantFrom('year', 'month', 'week', 'day', 'hour')
  const property = fc.asyncProperty(epochs, epochs, zones, units, async (a, b, zone, unit) => {
    const date = (epoch: number) => outputOf('date.FromUnix', { value: epoch, zone })
    const [from, to] = await Promise.all([date(a), date(b)])
    const { parts } = await fire('date.Difference', { from, to, unit, zone })
    assert.equal(await outputOf('date.Add', { date: from, zone, ...(parts as object) }), to)
    const { whole, output } = await fire('date.Difference', { from, to, unit: 'second', zone })
    assert.deepEqual([whole, output], [b - a, b - a])
  })
  await fc.assert(property, { numRuns: scaled(100) })
})
