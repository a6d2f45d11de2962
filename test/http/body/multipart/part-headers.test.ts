// The charset of a part: read only from the part's own head, in any spelling.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatClaimedType, parsePartCharset } from '../../../../src/http/body/multipart/part-headers.ts'

const FORM = 'multipart/form-data; boundary="b 1"'
const DISPOSITION = 'Content-Disposition: form-data; name="file"; filename="a"'

function charset(head: string, before = '', form = FORM, type = 'text/csv'): string | null {
  return parsePartCharset(Buffer.from(`${before}--b 1\r\n${head}\r\n\r\na,b`, 'latin1'), form, type)
}

describe('the charset of a part', () => {
  test('is found anywhere in the head of the part', () => {
    for (const head of [
      `${DISPOSITION}\r\nContent-Type: text/csv; charset=latin1`,
      `CONTENT-TYPE:text/CSV;x="a;charset=utf-8";Charset="Latin1"\r\n${DISPOSITION}`,
      `X: y\r\nContent-Type: text/csv;\r\n\tcharset=latin1\r\n${DISPOSITION}`,
    ])
      for (const before of ['', 'Content-Type: text/csv; charset=koi8-r\r\n\r\n', '--b 1--x\r\n'])
        assert.equal(charset(head, before), 'latin1', head)
  })

  test('is null if the head has none, or an invalid one', () => {
    for (const head of [
      DISPOSITION,
      'Content-Type: text/csv',
      'Content-Type: text/csv; charset=',
      'Content-Type: text/csv; charset="a b"',
      `Content-Type: text/csv; charset=${'x'.repeat(41)}`,
      'Content-Type: text/plain; charset=latin1',
      'Content-Type: csv; charset=latin1',
      'X-Content-Type: text/csv; charset=latin1',
    ])
      assert.equal(charset(head), null, head)
    const good = 'Content-Type: text/csv; charset=latin1'
    for (const form of ['multipart/form-data', 'multipart/form-data; boundary=c', ';'])
      assert.equal(charset(good, '', form), null, form)
    assert.equal(parsePartCharset(Buffer.from(`--b 1\r\n${good}\r\n`), FORM, 'text/csv'), null)
  })

  test('makes a generic type significant', () => {
    assert.equal(formatClaimedType('text/plain', null), null)
    assert.equal(formatClaimedType('text/plain', 'utf-8'), null)
    assert.equal(formatClaimedType('text/plain', 'latin1'), 'text/plain; charset=latin1')
    assert.equal(formatClaimedType('text/csv', null), 'text/csv')
  })
})
