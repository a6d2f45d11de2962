// The spending ledger where the disk fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../../src/db/store.ts'
import type { ModelUsage } from '../../../src/engine/node-api/services/models.ts'
import type { Log } from '../../../src/log.ts'
import { SpendingLedger } from '../../../src/models/billing/spending-ledger.ts'
import { startServer } from '../../helpers/server.ts'

test('spending that could not be written is written with the next spending', async () => {
  await using server = await startServer({})
  const { store, platform } = server.context
  let broken = true
  const write: Store['write'] = (work) => {
    if (broken) return Promise.reject(new Error('disk full'))
    return store.write(work)
  }
  const read: Store['read'] = (work) => store.read(work)
  const faulty = { read, write } as unknown as Store
  const errors: string[] = []
  const log = { error: (_: unknown, text: string) => errors.push(text) } as unknown as Log
  const spend = (amount: number): ModelUsage => {
    const cost = { amount, currency: 'USD', reported: false }
    return { model: 'a/b', input_tokens: 1, output_tokens: 2, cost }
  }
  {
    await using ledger = new SpendingLedger({ store: faulty, platform, log })
    ledger.add({ user_id: '1', workspace_id: null }, spend(5))
    await ledger.whenFlushed()
    broken = false
    ledger.add({ user_id: '1', workspace_id: null }, spend(2))
    await ledger.whenFlushed()
    assert.equal(ledger.spent('1'), 7)
  }
  assert.deepEqual(errors, ['model spending could not be written'])
  assert.equal(new SpendingLedger({ store, platform, log }).spent('1'), 7)
})
