// The catalogue: what is stored besides jobs. Callers await it, so that a database behind a network can take the place of SQLite.
//
// A unit of work is a generator. It yields its statements, and receives their results. SQLite runs a unit in one turn, in a transaction that other
// units share; another database awaits each statement. A unit can await nothing else, so no transaction stays open during a request or a timer.
import type { TableName } from './integrity/row-checksum.ts'
import type { Statement } from './statement.ts'
import type { Store } from './store.ts'
import type { Tx } from './transaction.ts'

export interface Catalogue {
  /**
   * Runs a read on everything that is committed. All statements of the unit see the same state.
   * @throws SERVICE_UNAVAILABLE if the database cannot be read; DATA_DAMAGED for a damaged row
   */
  read<T>(unit: CatalogueUnit<T>): Promise<T>
  /**
   * Runs a unit in a transaction, and settles after the commit. A unit that throws changes nothing.
   * @throws SERVICE_UNAVAILABLE if the database cannot be written; the data is then unchanged
   */
  write<T>(unit: CatalogueUnit<T>): Promise<T>
}

/** A unit of work. It may run more than once, so it changes nothing but rows. */
export type CatalogueUnit<T> = () => StatementSteps<T>

/** Statements one after the other, and what the caller makes of their results. */
export type StatementSteps<T> = Generator<StatementCall, T, unknown>

/** A call of a statement, as data: the database decides how it is executed. */
export type StatementCall =
  | { readonly returns: 'rows' | 'row' | 'changes'; readonly statement: AnyStatement; readonly params: object }
  | { readonly returns: 'soundness'; readonly table: TableName; readonly row: object }

type AnyStatement = Statement<never, unknown>

/** Selects all rows without the damaged ones. Throws for tables whose rows make sense only together. */
export function* selectRows<P extends object, R>(statement: Statement<P, R>, params: P): StatementSteps<R[]> {
  return (yield { returns: 'rows', statement, params }) as R[]
}

/** Selects the first row. @throws DATA_DAMAGED */
export function* selectRow<P extends object, R>(statement: Statement<P, R>, params: P): StatementSteps<R | undefined> {
  return (yield { returns: 'row', statement, params }) as R | undefined
}

/** Executes a statement that writes, and returns the number of rows that it changed. */
export function* changeRows<P extends object, R>(statement: Statement<P, R>, params: P): StatementSteps<number> {
  return (yield { returns: 'changes', statement, params }) as number
}

/** Whether a row of an unverified statement is undamaged. Damage is recorded. */
export function* isRowSound(table: TableName, row: object): StatementSteps<boolean> {
  return (yield { returns: 'soundness', table, row }) as boolean
}

/** Runs statements at once, in a synchronous unit of work of SQLite. */
export function runStatements<T>(tx: Tx, steps: StatementSteps<T>): T {
  let step = steps.next()
  while (!step.done) {
    let result: unknown
    try {
      result = execute(tx, step.value)
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(result)
  }
  return step.value
}

function execute(tx: Tx, call: StatementCall): unknown {
  if (call.returns === 'soundness') return tx.isSound(call.table, call.row)
  const { statement, params } = call
  if (call.returns === 'rows') return tx.all(statement, params as never)
  if (call.returns === 'row') return tx.get(statement, params as never)
  return tx.run(statement, params as never)
}

export class SqliteCatalogue implements Catalogue {
  readonly #store: Pick<Store, 'read' | 'write'>

  constructor(store: Pick<Store, 'read' | 'write'>) {
    this.#store = store
  }

  async read<T>(unit: CatalogueUnit<T>): Promise<T> {
    return this.#store.read((tx) => runStatements(tx, unit()))
  }

  write<T>(unit: CatalogueUnit<T>): Promise<T> {
    return this.#store.write((tx) => runStatements(tx, unit()))
  }
}
