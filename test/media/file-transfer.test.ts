// Files are sent in short parts and arrive unchanged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FileAssembler, splitFiles } from '../../src/media/file-transfer.ts'

const MEGABYTE = 1_048_576

const file = (length: number) => Uint8Array.from({ length }, (_, at) => at % 251)

for (const lengths of [[], [0], [0, 0, 5, 0], [MEGABYTE], [MEGABYTE + 1, 0, 7], [3 * MEGABYTE, 1], [5, 3 * MEGABYTE]])
  test(`files of ${lengths.join(', ') || 'no'} bytes arrive unchanged`, () => {
    const files = lengths.map(file)
    const gathered = new FileAssembler()
    let messages = 0
    for (const parts of splitFiles(files)) {
      messages++
      assert.ok(parts.reduce((sum, { bytes }) => sum + bytes.length, 0) <= MEGABYTE)
      gathered.add(structuredClone(parts))
    }
    assert.ok(messages >= 1)
    assert.equal(gathered.files.length, files.length)
    for (const [at, one] of gathered.files.entries()) assert.ok(Buffer.from(one).equals(files[at]!), `file ${at}`)
  })
