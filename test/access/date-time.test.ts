// Times of RFC 3339: each gives its instant, and an invalid time is not moved to another.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseDateTime } from '../../src/access/date-time.ts'

describe('a date-time', () => {
  test('gives its instant, with any offset, fraction and separator', () => {
    const given: [string, string][] = [
      ['2026-01-15T11:00:00+01:00', '2026-01-15T10:00:00.000Z'],
      ['2026-01-15t10:00:00.1239z', '2026-01-15T10:00:00.123Z'],
      ['2026-01-15 10:00:00Z', '2026-01-15T10:00:00.000Z'],
      ['2024-02-29T00:30:00+23:59', '2024-02-28T00:31:00.000Z'],
      ['2000-02-29T23:59:59-00:00', '2000-02-29T23:59:59.000Z'],
      ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
      ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
      ['2017-01-01T00:59:60.5+01:00', '2017-01-01T00:00:00.000Z'],
    ]
    for (const [text, instant] of given) assert.equal(parseDateTime(text), Date.parse(instant), text)
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
        (at) => {
          assert.equal(parseDateTime(at.toISOString()), at.getTime())
        },
      ),
    )
  })

  test('that does not exist gives none', () => {
    const none = [
      ...[
        '2099-02-30',
        '2099-02-29',
        '2100-02-29',
        '2099-04-31',
        '2099-00-10',
        '2099-13-01',
        '2099-01-00',
        '2099-01-32',
      ].map((date) => `${date}T00:00:00Z`),
      ...['24:00:00Z', '24:59:30+01:00', '00:60:00Z', '00:00:61Z', '10:00:60Z', '23:59:60+01:00'].map(
        (time) => `2099-01-01T${time}`,
      ),
      ...['+24:00', '+25:00', '+01:60', '+01', '+0100', '+1:00', '', '[UTC]', 'ZZ'].map(
        (offset) => `2099-01-01T00:00:00${offset}`,
      ),
      ...['', 'tomorrow', '2099-01-01', '2099-01-01T00:00Z', '2099-01-01T00:00:00,5Z', '2099-01-01T00:00:00.Z'],
      ...['+002099-01-01T00:00:00Z', '99-01-01T00:00:00Z', ' 2099-01-01T00:00:00Z', '2099-01-01\n00:00:00Z'],
    ]
    for (const text of none) assert.equal(parseDateTime(text), null, text)
  })
})
