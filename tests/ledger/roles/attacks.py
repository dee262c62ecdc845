"""What no login may do, and what each duty may not, as statements."""

from ledger.access.duty import Duty
from tests.ledger.roles.logins import NOBODY, SERVICE
from tests.postgres import OWNER

CHANGING_EVENTS = [
    "update ledger.events set type = 'x'",
    "delete from ledger.events",
    "truncate ledger.events",
    "truncate ledger.events cascade",
    "alter table ledger.events disable trigger all",
    "alter table ledger.events disable trigger events_append_only",
    "alter table ledger.events enable row level security",
    "drop trigger events_append_only on ledger.events",
    "create rule mine as on insert to ledger.events do instead nothing",
    "create policy mine on ledger.events",
    "create trigger mine before insert on ledger.events for each row execute function ledger.refuse_change()",
    "alter table ledger.events add column mine int",
    "alter table ledger.events owner to current_user",
    "alter table ledger.events rename to gone",
    "alter table ledger.events set schema public",
    "drop table ledger.events cascade",
    "drop schema ledger cascade",
    "drop owned by commitgate_migrator",
    "reassign owned by commitgate_migrator to current_user",
    "lock table ledger.events in access exclusive mode",
    "cluster ledger.events using events_pkey",
    "insert into ledger.events select * from ledger.events on conflict (shard, tenant, commit_key, seq)"
    " do update set type = 'x'",
    "merge into ledger.events e using ledger.events o on e.seq = o.seq when matched then delete",
    "with gone as (delete from ledger.events returning 1) select count(*) from gone",
    "do $$ begin execute 'delete from ledger.events'; end $$",
]
TURNING_OFF = [
    "set session_replication_role = replica",
    "set local session_replication_role = replica",
    "select set_config('session_replication_role', 'replica', false)",
    "alter role current_user set session_replication_role = replica",
    "create or replace function ledger.check_licence() returns trigger language plpgsql as 'begin return new; end'",
    "create or replace function ledger.refuse_change() returns trigger language plpgsql as 'begin return old; end'",
    "alter function ledger.check_licence() set search_path = pg_temp",
    "drop function ledger.check_licence() cascade",
]
CREATING = [
    "create table ledger.mine (n int)",
    "create view ledger.mine as select 1",
    "create view audit.mine as select 1",
    "create function ledger.mine() returns int return 1",
    "create type ledger.mine as (n int)",
    "create table public.mine (n int)",
    "create schema mine",
    "create extension dblink",
    "create extension pg_trgm",
    "create event trigger mine on ddl_command_start execute function ledger.refuse_change()",
    "create publication mine for table ledger.events",
    "create subscription mine connection 'host=/nowhere' publication mine with (connect = false)",
    "create foreign data wrapper mine",
    "create language mine handler plpgsql_call_handler",
]
BECOMING_ANOTHER = [
    "set role postgres",
    f"set role {OWNER}",
    f"set local role {OWNER}",
    "set session authorization postgres",
    f"set session authorization {OWNER}",
    "set local session authorization postgres",
    "select set_config('role', 'postgres', false)",
    "select set_config('session_authorization', 'postgres', false)",
    "create role mine",
    "create role mine superuser",
    "alter role current_user superuser",
    "alter role current_user createrole",
    "alter role current_user bypassrls",
    "alter role current_user replication",
    f"alter role {OWNER} password 'mine'",
    f"grant {OWNER} to current_user",
    "grant commitgate_migrator to current_user",
    "grant commitgate_redactor to current_user",
    "grant commitgate_auditor to current_user",
    "grant pg_write_all_data to current_user",
    "grant pg_read_all_data to current_user",
    "grant set on parameter session_replication_role to current_user",
    f"alter default privileges for role {OWNER} grant all on tables to current_user",
    "select rolpassword from pg_authid",
    "select usename, passwd from pg_shadow",
]
REACHING_OUT = [
    "copy ledger.events to program 'cat'",
    "copy (select 1) to program 'cat'",
    "copy ledger.events from program 'echo'",
    "copy (select 1) to '/tmp/commitgate-mine'",
    "copy ledger.events from '/etc/passwd'",
    "select lo_import('/etc/passwd')",
    "select lo_export(1, '/tmp/commitgate-mine')",
    "select pg_read_file('/etc/passwd')",
    "select pg_read_binary_file('/etc/passwd')",
    "select pg_ls_dir('.')",
    "select pg_stat_file('postgresql.conf')",
    "select pg_reload_conf()",
    "select pg_create_logical_replication_slot('mine', 'pgoutput')",
    "load '/tmp/mine.so'",
    "select pg_promote()",
    "select pg_switch_wal()",
    "select pg_rotate_logfile()",
]
AUDITORS = [
    "insert into ledger.auditors (login, tenant) values (session_user, 'x')",
    "update ledger.auditors set tenant = 'x'",
    "delete from ledger.auditors",
    "truncate ledger.auditors",
    "select * from ledger.auditors",
    "copy ledger.auditors from stdin",
]
NOT_IN_A_TRANSACTION = [
    "alter system set session_replication_role = replica",
    "create database mine",
    "create tablespace mine location '/tmp'",
    "drop database postgres",
]
EVERYBODY = CHANGING_EVENTS + TURNING_OFF + CREATING + BECOMING_ANOTHER + REACHING_OUT + AUDITORS

NULLING = "update ledger.events set payload = null, salt = null"
LICENSING = (
    "insert into ledger.dispatches (shard, tenant, commit_key, intent_id, attempt, branch, effect, worker, epoch,"
    " lease_until, started_seq, open) select shard, tenant, commit_key, 'i1', 9, 'main', 'READ_ONLY', 'me', 1,"
    " now(), seq, true from ledger.events where type = 'dispatch.started'"
)
FORGING = [
    "insert into ledger.seals (shard, tenant, commit_key, first_seq, last_seq, first_index)"
    " values (0, 't', 'k', 1, 1, 0)",
    "insert into ledger.tiles (level, tile, hashes) values (0, 0, decode(repeat('00', 32), 'hex'))",
    "insert into ledger.checkpoints (size, note, at) values (0, 'forged', now())",
    "update ledger.log set size = 0",
]
READING = [
    f"select * from ledger.{table}"
    for table in (
        "events",
        "streams",
        "intents",
        "dispatches",
        "batches",
        "pauses",
        "log",
        "seals",
    )
]
EACH = {
    Duty.WRITER: [
        NULLING,
        LICENSING,
        "update ledger.dispatches set lease_until = now() + interval '1 year'",
        "update ledger.dispatches set open = false",
        "update ledger.batches set response = 'x'",
        "delete from ledger.batches",
        *FORGING,
    ],
    Duty.DISPATCHER: [
        NULLING,
        "delete from ledger.dispatches",
        "update ledger.dispatches set effect = 'READ_ONLY'",
        "update ledger.dispatches set intent_id = 'x'",
        "delete from ledger.intents",
        "delete from ledger.streams",
        "insert into ledger.pauses values (0, 't', '*', 'me', 'x', now())",
        "delete from ledger.pauses",
        "insert into ledger.batches values (0, 't', 'k', 'b', '', '')",
        *FORGING,
    ],
    Duty.SEALER: [
        NULLING,
        LICENSING,
        "insert into ledger.events select * from ledger.events",
        "copy ledger.events from stdin",
        "update ledger.streams set seq = 0",
        "delete from ledger.streams",
        "delete from ledger.seals",
        "update ledger.seals set first_index = 0",
        "delete from ledger.checkpoints",
        "update ledger.checkpoints set note = 'x'",
        "delete from ledger.tiles",
        "update ledger.tiles set tile = 1",
        "update ledger.log set log_id = 'x'",
        "delete from ledger.log",
        "insert into ledger.log (one, log_id) values (true, 'x')",
        "select * from ledger.intents",
    ],
    Duty.RECONCILER: [
        NULLING,
        LICENSING,
        "insert into ledger.events select * from ledger.events",
        "update ledger.streams set seq = 0",
        "delete from ledger.intents",
        "delete from ledger.pauses",
        "select * from ledger.batches",
        "select 1 from ledger.events for update",
        "select 1 from ledger.streams for share",
        *FORGING,
    ],
    Duty.AUDITOR: [NULLING, LICENSING, *FORGING, *READING, "select ledger.effect_rank('WRITE')"],
    Duty.REDACTOR: [
        LICENSING,
        "insert into ledger.events select * from ledger.events",
        "update ledger.events set payload_digest = ''",
        "update ledger.events set payload = null, salt = null, at = now()",
        "update ledger.events set tenant = 'x'",
        "update ledger.events set seq = seq + 1",
        *FORGING,
        *(read for read in READING if "ledger.events" not in read),
    ],
    SERVICE: [
        NULLING,
        "delete from ledger.dispatches",
        "truncate ledger.dispatches",
        "update ledger.dispatches set effect = 'READ_ONLY'",
    ],
    NOBODY: [NULLING, LICENSING, *FORGING, *READING],
}
