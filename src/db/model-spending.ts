// The cost of model calls, summed by day (UTC), owner, model and currency.
import { statement } from './statement.ts'
import type { Tx } from './store.ts'
import type { ModelSpendingTable } from './tables/users.ts'

const add = statement<ModelSpendingTable>()((db, p) =>
  db
    .insertInto('model_spending')
    .values({
      day: p('day'),
      user_id: p('user_id'),
      workspace: p('workspace'),
      model: p('model'),
      currency: p('currency'),
      calls: p('calls'),
      input_tokens: p('input_tokens'),
      output_tokens: p('output_tokens'),
      amount: p('amount'),
      own_amount: p('own_amount'),
    })
    .onConflict((conflict) =>
      conflict.columns(['day', 'user_id', 'workspace', 'model', 'currency']).doUpdateSet((eb) => ({
        calls: eb('model_spending.calls', '+', eb.ref('excluded.calls')),
        input_tokens: eb('model_spending.input_tokens', '+', eb.ref('excluded.input_tokens')),
        output_tokens: eb('model_spending.output_tokens', '+', eb.ref('excluded.output_tokens')),
        amount: eb('model_spending.amount', '+', eb.ref('excluded.amount')),
        own_amount: eb(
          eb.fn.coalesce('model_spending.own_amount', eb.lit(0)),
          '+',
          eb.fn.coalesce('excluded.own_amount', eb.lit(0)),
        ),
      })),
    ),
)

const ofDay = statement<{ day: string }>()((db, p) =>
  db.selectFrom('model_spending').selectAll().where('day', '=', p('day')),
)

const removeBefore = statement<{ day: string }>()((db, p) =>
  db.deleteFrom('model_spending').where('day', '<', p('day')),
)

export function addModelSpending(tx: Tx, row: ModelSpendingTable): void {
  tx.run(add, row)
}

export function listModelSpending(tx: Tx, day: string): ModelSpendingTable[] {
  return tx.all(ofDay, { day })
}

export function deleteModelSpendingBefore(tx: Tx, day: string): void {
  tx.run(removeBefore, { day })
}
