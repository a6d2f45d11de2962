// Statements: Kysely builds and types a query once, and the store prepares it once per connection. Building a query costs more than running it; this
// keeps the types and pays the cost at start.
import { channel } from 'node:diagnostics_channel'
import {
  type Compilable,
  DummyDriver,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import { ChecksumPlugin, ComputedChecksum, verifiedTable } from './integrity/checksum-plugin.ts'
import { CHECKSUM_COLUMNS, type TableName } from './integrity/row-checksum.ts'
import { longTextColumn } from './long-text-columns.ts'
import type { Tables } from './schema.ts'

class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const plain = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** Builds queries without a connection. A query for some columns reads whole rows, to verify them. */
export const queryBuilder = plain.withPlugin(new ChecksumPlugin(true))
const keyBuilder = plain.withPlugin(new ChecksumPlugin(false))

/** Publishes each compiled statement, so that tests can inspect all of them. */
export const statementChannel = channel('svc:statement')

/** A query with named parameters. `row` exists only for the type. */
export interface Statement<Params, Row> {
  readonly sql: string
  /** The parameters of one call by position. */
  bind(params: Params): unknown[]
  /** The table whose whole rows the statement returns; each row is verified. */
  readonly verified?: TableName | null
  /** The column of whole rows that may be read as bytes. */
  readonly long?: string | null
  readonly row?: Row
}

type Param<Params> = <Name extends keyof Params & string>(name: Name) => RawBuilder<Params[Name]>

/**
 * Compiles a query once. `p('name')` stands for the value of `name` in each call. `reads`: whole rows; `keys` of rows that are read again by them, so
 * that an index may suffice; or `unverified` rows, which the caller verifies with `tx.isSound`.
 * @example const byId = statement<{ id: string }>()((db, p) => db.selectFrom('job').selectAll().where('id', '=', p('id')))
 */
export function statement<Params extends object = Record<never, never>>(
  reads: 'rows' | 'keys' | 'unverified' = 'rows',
) {
  return <Row>(build: (db: typeof queryBuilder, p: Param<Params>) => Compilable<Row>): Statement<Params, Row> => {
    const db = reads === 'rows' ? queryBuilder : keyBuilder
    const compiled = build(db, (name) => sql`${new Placeholder(name)}`).compile()
    const { parameters } = compiled
    const whole = verifiedTable(compiled.query)
    const verified = reads === 'unverified' ? null : whole
    statementChannel.publish({ sql: compiled.sql, node: compiled.query, verified, reads })
    return {
      sql: compiled.sql,
      verified,
      long: longTextColumn(whole),
      bind: (params) => {
        const resolve = (source: unknown): unknown =>
          source instanceof Placeholder ? params[source.name as keyof Params] : source
        return parameters.map((source) =>
          source instanceof ComputedChecksum ? source.compute(resolve) : resolve(source),
        )
      },
    }
  }
}

/** The checksum of a row that a statement writes whole: it has a parameter of the same name for every column. */
export function rowChecksumParameter(table: TableName): RawBuilder<number> {
  return sql`${new ComputedChecksum(
    table,
    CHECKSUM_COLUMNS[table].map((name) => new Placeholder(name)),
  )}`
}

/** True for each sound row of the table, and throws at a damaged row: for queries that do not return whole rows. */
export function soundRowCondition(table: TableName): RawBuilder<boolean> {
  const columns = CHECKSUM_COLUMNS[table].map((name) => sql.ref(`${table}.${name}`))
  return sql<boolean>`row_sound(${sql.lit(table)}, ${sql.ref(`${table}.checksum`)}, ${sql.join(columns)})`
}
