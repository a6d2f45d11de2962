// What putting a token into a deployment.yaml changes: one line, and no other byte, whatever else the file holds.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { parseDocument } from 'yaml'
import { insertToken } from '../../src/deploy/deployment-yaml.ts'
import { findServerToken, resolveServerToken } from '../../src/deploy/server-token.ts'
import { scaled } from '../helpers/scale.ts'
import { temporaryFolder } from '../helpers/server.ts'

const folder = temporaryFolder()
const config_file = join(folder, 'deployment.yaml')
after(() => rmSync(folder, { recursive: true, force: true }))

const KEY = 'server_auth_token'

/** The values of a file without the token, as texts. */
function valuesOf(text: string): unknown {
  const values = parseDocument(text.replace('\ufeff', ''), { schema: 'failsafe', uniqueKeys: false }).toJS({
    mapAsMap: true,
  })
  if (values instanceof Map) values.delete(KEY)
  return values instanceof Map && values.size > 0 ? values : null
}

/** Holds that a file keeps every byte but for one line, which goes on as its lines do, and every value. */
function gainsOneLine(text: string): void {
  const before = Buffer.from(text)
  writeFileSync(config_file, before)
  const { token } = resolveServerToken({ environment: {}, config_file })
  const written = readFileSync(config_file)
  const lineEnd = text.includes('\n') && !/(?<!\r)\n/.test(text) ? '\r\n' : '\n'
  const line = `${KEY}: "${token}"${lineEnd}`
  const at = written.indexOf(line)
  assert.notEqual(at, -1, JSON.stringify(String(written)))
  const rest = Buffer.concat([written.subarray(0, at), written.subarray(at + line.length)])
  // Its indentation, and the end of a last line of comments that had none, are its own.
  const own = rest.length - before.length
  assert.match(rest.toString('latin1', at - own, at), /^(\r?\n)? *$/)
  assert.deepEqual(Buffer.concat([rest.subarray(0, at - own), rest.subarray(at)]), before)
  assert.equal(findServerToken({ environment: {}, config_file })?.token, token)
  assert.deepEqual(valuesOf(String(written)), valuesOf(text))
}

const ENTRIES = [
  'k#: v',
  'k#:   1.10   # why',
  'k#: [1,2,   3]',
  'k#: {a: 1,b: 2}',
  'k#: >\n    one\n    two\n\n      three\n',
  'k#: |+\n   kept\n\n',
  'k#: |2-\n     in\n    out',
  'k#:\n - 1\n -  2',
  'k#:\n- 1',
  'k#:\n     deep:   0x1F',
  'k#: "in\n  quotes \\u00e9"',
  "k#: 'it''s'",
  'k#: plain\n   and more',
  '? k#\n: v',
  '? k#',
  'k#:',
  '"k#" :  yes',
  '&a# k#: &b# !tag x',
  'k#: &c# y\nl#: *c#',
  '# a comment',
  '    # one further in',
  '',
  '   ',
  '\t',
  '\t# behind a tab',
] as const
const BEFORE = ['', '', '# first\n', '---\n', '--- # c\n', '%YAML 1.2\n---\n', '--- !!map\n', '\n\n', '--- &root\n']
const AFTER = ['', '', '', '\n# last', '\n\n\n', '\n...', '\n...\n# over\n', '\n  ']

const files = fc
  .record({
    mark: fc.constantFrom('', '\ufeff'),
    before: fc.constantFrom(...BEFORE),
    entries: fc.array(fc.constantFrom(...ENTRIES), { maxLength: 6 }),
    indent: fc.constantFrom(0, 0, 1, 4),
    after: fc.constantFrom(...AFTER),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    last: fc.boolean(),
  })
  .map(({ mark, before, entries, indent, after, lineEnd, last }) => {
    const lines = entries.flatMap((entry, i) =>
      entry
        .replaceAll('#:', `${i}:`)
        .replaceAll(/(?<=\S)#/g, `${i}`)
        .split('\n'),
    )
    const body = lines.map((line) => (line === '' ? '' : ' '.repeat(indent) + line)).join('\n')
    return (mark + before + body + after + (last ? '\n' : '')).replaceAll('\n', lineEnd)
  })

const readable = (text: string) => {
  try {
    writeFileSync(config_file, text)
    return findServerToken({ environment: {}, config_file }) === null
  } catch {
    return false
  }
}

describe('a file that gets a token', () => {
  test('keeps every other byte where its keys are on lines of their own', () => {
    fc.assert(fc.property(files.filter(readable), gainsOneLine), { numRuns: scaled(200) })
  })

  for (const text of [
    '',
    '\ufeff',
    'a: 1\r\nb: >\r\n  folded\r\n  text\r\n',
    'a:   1\nb: [1,2,   3]\n',
    '  a: 1\n  b: 2',
    '# to be filled in',
    '---',
    'a: 1\n... # the end\n',
    'a: |\n  last',
    '? k0\n\t\n# a comment\n...\n# over\n',
  ])
    test(`keeps every other byte of ${JSON.stringify(text)}`, () => gainsOneLine(text))

  for (const [text, written] of [
    ['# c\r\n{a:  1.10} # d\r\n', '# c\n{ a: 1.10, server_auth_token: "TOKEN" } # d\n'],
    ['{}', '{ server_auth_token: "TOKEN" }\n'],
    ['{a: *nowhere}', '{ a: *nowhere, server_auth_token: "TOKEN" }\n'],
    ['~\n', 'server_auth_token: "TOKEN"\n'],
  ] as const)
    test(`is written anew where it is ${JSON.stringify(text)}`, () => assert.equal(insertToken(text, 'TOKEN'), written))

  test('takes a token of any letters', () => {
    const token = String.raw`"quotes"\and'#:{}`
    assert.equal(parseDocument(insertToken('a: 1\n', token)).get(KEY), token)
  })
})
