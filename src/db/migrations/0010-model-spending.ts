// The cost of model calls, by day, owner and model.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

async function up(db: Kysely<unknown>): Promise<void> {
  // `currency` is '' for calls of unknown price.
  await sql`create table model_spending (day text not null, user_id text not null, workspace text not null,
      model text not null, currency text not null, calls integer not null, input_tokens integer not null,
      output_tokens integer not null, amount real not null,
      primary key (day, user_id, workspace, model, currency)) strict, without rowid`.execute(db)
}

export const modelSpending: Migration = { up }
