// Opens the database of its first argument with a small log, and writes jobs; each line is the key of an acknowledged job. With a number as its
// second argument the process stops after so many jobs without closing the database, and becomes idle.
import { Store } from '../../../src/db/store.ts'
import { jobRow, putJob } from '../../helpers/store.ts'

const last = Number(process.argv[3] ?? Number.POSITIVE_INFINITY)
const store = await Store.open(process.argv[2]!, { wal: { bytes: 1024 * 1024, look_every_ms: 10 } })
for (let key = 1; key <= last; key++) {
  await store.write((tx) => putJob(tx, jobRow(key, { name: 'x'.repeat(20_000) })))
  process.stdout.write(`${key}\n`)
}
