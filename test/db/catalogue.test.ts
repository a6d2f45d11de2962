// Units of the catalogue: they receive the results of their statements, are undone as a whole, and see errors where a statement fails.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Catalogue,
  changeRows,
  SqliteCatalogue,
  type StatementSteps,
  selectRow,
  selectRows,
} from '../../src/db/catalogue.ts'
import { statement } from '../../src/db/statement.ts'
import { listAllUserSettings, putUserSetting } from '../../src/db/user-settings.ts'
import { openStore } from '../helpers/store.ts'

const setting = (name: string, value = '1') => ({ user_id: '1', workspace: '', name, value, updated_at: '' })

/** Fails at its second row of the same name: it does not replace. */
const insert = statement<ReturnType<typeof setting>>()((db, p) =>
  db.insertInto('user_setting').values({
    user_id: p('user_id'),
    workspace: p('workspace'),
    name: p('name'),
    value: p('value'),
    updated_at: p('updated_at'),
  }),
)

const byName = statement<{ name: string }>()((db, p) =>
  db.selectFrom('user_setting').selectAll().where('name', '=', p('name')),
)

async function withCatalogue(run: (catalogue: Catalogue) => Promise<void>): Promise<void> {
  await using opened = await openStore()
  await run(new SqliteCatalogue(opened.store))
}

const namesIn = async (catalogue: Catalogue) => (await catalogue.read(listAllUserSettings)).map(({ name }) => name)

describe('a unit of the catalogue', () => {
  test('receives rows, a row, the number of changed rows, and its own value', () =>
    withCatalogue(async (catalogue) => {
      const changed = await catalogue.write(() => changeRows(insert, setting('a')))
      assert.equal(changed, 1)
      const found = await catalogue.read(function* () {
        return [yield* selectRows(byName, { name: 'a' }), yield* selectRow(byName, { name: 'b' })] as const
      })
      assert.deepEqual([found[0].map(({ name }) => name), found[1]], [['a'], undefined])
    }))

  test('reads what it has written before the commit', () =>
    withCatalogue(async (catalogue) => {
      const row = await catalogue.write(function* () {
        yield* putUserSetting(setting('a', '2'))
        return yield* selectRow(byName, { name: 'a' })
      })
      assert.equal(row?.value, '2')
    }))

  test('is undone as a whole if it throws, and units beside it are not', () =>
    withCatalogue(async (catalogue) => {
      const failed = catalogue.write(function* () {
        yield* putUserSetting(setting('undone'))
        throw new Error('of the unit')
      })
      const others = ['before', 'behind'].map((name) => catalogue.write(() => putUserSetting(setting(name))))
      await assert.rejects(failed, /of the unit/)
      await Promise.all(others)
      assert.deepEqual((await namesIn(catalogue)).sort(), ['before', 'behind'])
    }))

  test('may catch the error of a statement and go on', () =>
    withCatalogue(async (catalogue) => {
      function* insertOrReplace(): StatementSteps<string> {
        try {
          yield* changeRows(insert, setting('a', '2'))
          return 'inserted'
        } catch {
          yield* putUserSetting(setting('a', '2'))
          return 'replaced'
        }
      }
      assert.deepEqual(
        [await catalogue.write(insertOrReplace), await catalogue.write(insertOrReplace)],
        ['inserted', 'replaced'],
      )
      await assert.rejects(
        catalogue.write(() => changeRows(insert, setting('a'))),
        /UNIQUE/,
      )
    }))

  test('is repeated alone if a unit of the same transaction fails', () =>
    withCatalogue(async (catalogue) => {
      let runs = 0
      const repeated = catalogue.write(function* () {
        runs++
        yield* putUserSetting(setting('a'))
      })
      const failed = catalogue.write(() => changeRows(insert, setting('a')))
      await repeated
      await assert.rejects(failed, /UNIQUE/)
      assert.equal(runs, 2)
    }))

  test('of a closed store is refused', async () => {
    const opened = await openStore()
    const catalogue = new SqliteCatalogue(opened.store)
    await opened[Symbol.asyncDispose]()
    await assert.rejects(catalogue.read(listAllUserSettings), { code: 'SERVICE_UNAVAILABLE' })
    await assert.rejects(
      catalogue.write(() => putUserSetting(setting('a'))),
      { code: 'SERVICE_UNAVAILABLE' },
    )
  })
})
