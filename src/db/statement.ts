// Statements: Kysely builds and types a query once, the store prepares it once per connection and runs it without building anything again.
// A query builder costs more than the statement itself; this keeps the types and pays the cost at start.
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
import type { Tables } from './schema.ts'

class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** Builds queries; it has no connection. */
export const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** A query with named parameters. `row` exists for the type alone. */
export interface Statement<Params, Row> {
  readonly sql: string
  /** Parameters by position: the values of one call. */
  bind(params: Params): unknown[]
  readonly row?: Row
}

type Param<Params> = <Name extends keyof Params & string>(name: Name) => RawBuilder<Params[Name]>

/**
 * Compiles a query once. `p('name')` stands for the value of `name` in each call.
 * @example const byId = statement<{ id: string }>()((db, p) => db.selectFrom('job').selectAll().where('id', '=', p('id')))
 */
export function statement<Params extends object = Record<never, never>>() {
  return <Row>(build: (db: typeof builder, p: Param<Params>) => Compilable<Row>): Statement<Params, Row> => {
    const compiled = build(builder, (name) => sql`${new Placeholder(name)}`).compile()
    const slots = compiled.parameters.map((value) =>
      value instanceof Placeholder ? (value.name as keyof Params) : null,
    )
    const constants = compiled.parameters
    return {
      sql: compiled.sql,
      bind: (params) => slots.map((name, i) => (name === null ? constants[i] : params[name])),
    }
  }
}
