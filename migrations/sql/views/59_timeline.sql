-- One readable line an event, as ``ledger.timeline`` tells it. A line is a template and its parts; the first letter of
-- a part says how it is shown: p plain, s behind a space, r in brackets, q in quotes (all cut at 80 characters), v as it
-- is, made here. No control character of a model or a tool reaches a line.
create view audit.timeline with (security_barrier) as
with told as not materialized (
    select e.shard, e.tenant, e.commit_key, e.seq, e.at, e.type, e.branch, e.intent_id, e.head_after, e.cut_at, e.body, e.redacted,
        max(e.head_after) over (partition by e.shard, e.tenant, e.commit_key, e.branch order by e.seq
            rows between unbounded preceding and 1 preceding) as head_before,
        coalesce(e.seq > min(e.seq) filter (where e.type = 'intent.held' and not e.redacted)
            over (partition by e.shard, e.tenant, e.commit_key, e.intent_id order by e.seq), false) as known,
        coalesce(
            'p' || ((array_agg(coalesce(e.body ->> 'tool', 'unparsable call'))
                filter (where e.type = 'intent.held' and not e.redacted)
                over (partition by e.shard, e.tenant, e.commit_key, e.intent_id order by e.seq))[1]),
            'v' || coalesce(e.intent_id, 'a call')) as call
    from ledger.audited_events e
), parted as not materialized (
    select t.*, line.template, line.parts
    from told t
    left join lateral json_to_record(t.body) as body (accepted text, arguments_raw text, attempt text, because text,
        because_seq text, binding json, branches json, "by" text, call_id text, content json, effect text, "end" text,
        format text, "from" text, note text, problem text, reason text, release text, round text, seqs json, span json, start bigint, status text,
        token json, tokens json, tool text, unsent text, verdict text, version text, worker text, writer_epoch text) on true
    cross join lateral (
        select
            'p' || coalesce(body.reason, 'None') as reason,
            'p' || coalesce(body.because, 'None') as because,
            'p' || coalesce(body.effect, 'None') as effect,
            'p' || coalesce(body.status, 'None') as status,
            'p' || coalesce(body.by, 'None') as by,
            'v' || coalesce(body.attempt, 'None') as attempt,
            'v' || coalesce(body.round, 'None') as round,
            'v[' || coalesce(body.span ->> 0, '?') || ', ' || coalesce(body.span ->> 1, '?') || ')' as span,
            'v' || case when body.unsent = 'true' then ', certainly not sent' else '' end as unsent,
            'p' || body.content::text as content,
            listed.n,
            'v' || listed.n || case listed.n when 1 then ' token' else ' tokens' end as count,
            'q' || coalesce(listed.spelled, '') as spelled
        from (
            select count(*) as n, string_agg(each.token ->> 'text', '' order by each.place) as spelled
            from json_array_elements(body.tokens) with ordinality as each (token, place)
        ) listed
    ) said
    cross join lateral (
        select case
            when t.redacted then 'v' || t.type || ' (redacted)'
            when t.body is null then 'v' || t.type || ' (stream_unreadable)'
            when t.type = 'stream.opened' then 'opened: {} calls {}, binding {}, branches {}'
            when t.type = 'stream.taken_over' then 'taken over by a new writer, epoch {}'
            when t.type = 'tokens.drafted' then 'drafted {} [{}, {}) round {}{}: {}'
            when t.type = 'tokens.ruled' then 'ruled [{}, {}): {} accepted{}'
                || case when body.token is not null then ', own token {}' else '' end
            when t.type = 'tokens.accepted' then 'accepted {} [{}, {}): {}'
            when t.type = 'drafts.voided' then 'drafts [{}, {}) voided: {}'
            when t.type = 'stream.finished' then 'finished: {}'
            when t.type in ('block.cleared', 'block.voided') then 'block {} of round {} {}'
                || case when body.because is null then '' else ': {}' end
            when t.type = 'intent.held' and t.known then 'held {} again: {}'
            when t.type = 'intent.held' then 'held {} {}{} span {}{}'
            when t.type = 'intent.released' then 'released {} as {} {}'
            when t.type in ('intent.refused', 'intent.voided') then '{} {}: {}'
            when t.type = 'intent.awaiting_approval' then '{} awaits approval: {}'
            when t.type = 'intent.approved' then '{} approved by {}' || case when body.note is null then '' else ': {}' end
            when t.type = 'intent.denied' then '{} denied by {}: {}'
            when t.type = 'intent.adopted' then '{} adopts the answer of {}, attempt {}'
            when t.type = 'intent.call_id' then '{} is called {} by its provider'
            when t.type = 'intent.stale' then '{} is stale: overtaken at seq {}'
            when t.type = 'intent.final' then '{} is final, with the answer of attempt {}'
            when t.type = 'dispatch.started' then 'dispatched {} attempt {} by {}'
            when t.type in ('dispatch.settled', 'dispatch.late') then '{} attempt {} {} {}{}'
                || case when said.content is null then '' else ': {}' end
            when t.type = 'dispatch.expired' then '{} attempt {} lost ({}), may be sent again'
            when t.type = 'dispatch.in_doubt' then '{} attempt {} in doubt: {}'
            when t.type = 'dispatch.probed' then '{} attempt {} probed: {}'
            when t.type = 'dispatch.resolved' then '{} resolved as {} by {}: {}'
            when t.type = 'payload.redacted' then '{} redacted, {}, by {}: {}'
            when t.type = 'effects.changed' then 'effect table version {} in force, by {}'
            else 'v' || t.type
        end as template,
        case t.type
            when 'stream.opened' then array[
                'p' || coalesce(body.format, 'None'), 'p' || coalesce(body."from", 'None'),
                'p' || coalesce(body.binding ->> 'kind', 'None'),
                'v' || coalesce((
                    select string_agg(case when length(b.name) > 80 then left(b.name, 79) || '…' else b.name end, ', '
                        order by b.place)
                    from json_array_elements_text(body.branches) with ordinality as b (name, place)
                ), '')]
            when 'stream.taken_over' then array['v' || coalesce(body.writer_epoch, 'None')]
            when 'tokens.drafted' then array[
                said.count,
                'v' || coalesce(body.start, 0),
                'v' || coalesce(body.start, 0) + said.n,
                said.round,
                'v' || coalesce(' by ' || (
                    select string_agg(by.drafter, ', ' order by by.place)
                    from (
                        select case when length(listed.token ->> 'drafter') > 80
                                then left(listed.token ->> 'drafter', 79) || '…' else listed.token ->> 'drafter' end as drafter,
                            min(listed.place) as place
                        from json_array_elements(body.tokens) with ordinality as listed (token, place)
                        where listed.token ->> 'drafter' is not null
                        group by 1
                    ) by
                ), ''),
                said.spelled]
            when 'tokens.ruled' then array[
                'v' || coalesce(body.start::text, 'None'), 'v' || coalesce(body."end", 'None'),
                'v' || coalesce(body.accepted, 'None'), 'v' || coalesce(', cut at ' || t.cut_at, ''),
                'q' || coalesce(body.token ->> 'text', 'None')]
            when 'tokens.accepted' then array[
                said.count,
                'v' || coalesce(t.head_after - said.n, t.head_before, 0),
                'v' || coalesce(t.head_after - said.n, t.head_before, 0) + said.n,
                said.spelled]
            when 'drafts.voided' then array[
                'v' || coalesce(body.start::text, 'None'), 'v' || coalesce(body."end", 'None'), said.because]
            when 'stream.finished' then array[said.reason]
            when 'block.cleared' then array[said.span, said.round, 'vcleared', said.because]
            when 'block.voided' then array[said.span, said.round, 'vvoided', said.because]
            when 'intent.held' then case when t.known then array[t.call, said.reason] else array[
                said.effect, t.call,
                case when body.arguments_raw is null then 'v' else 's' || (body.arguments_raw) end,
                said.span,
                case when body.problem is null then 'v' else 'r' || (body.problem) end] end
            when 'intent.released' then array[t.call, said.effect,
                case body.release when 'early' then 'vearly, on drafts' else 'von accepted tokens' end]
            when 'intent.refused' then array['vrefused', t.call, said.reason]
            when 'intent.voided' then array['vvoided', t.call, said.reason]
            when 'intent.awaiting_approval' then array[t.call, said.because]
            when 'intent.approved' then array[t.call, said.by, 'q' || body.note]
            when 'intent.denied' then array[t.call, said.by, 'q' || coalesce(body.reason, 'None')]
            when 'intent.adopted' then array[t.call, 'p' || coalesce(body."from", 'None'), said.attempt]
            when 'intent.call_id' then array[t.call, 'q' || coalesce(body.call_id, 'None')]
            when 'intent.stale' then array[t.call, 'v' || coalesce(body.because_seq, 'None')]
            when 'intent.final' then array[t.call, said.attempt]
            when 'dispatch.started' then array[t.call, said.attempt, 'p' || coalesce(body.worker, 'None')]
            when 'dispatch.settled' then array[t.call, said.attempt, 'vsettled', said.status,
                said.unsent, said.content]
            when 'dispatch.late' then array[t.call, said.attempt, 'vanswered late,', said.status,
                said.unsent, said.content]
            when 'dispatch.expired' then array[t.call, said.attempt, said.because]
            when 'dispatch.in_doubt' then array[t.call, said.attempt, said.because]
            when 'dispatch.probed' then array[t.call, said.attempt, 'p' || coalesce(body.verdict, 'None')]
            when 'dispatch.resolved' then array[t.call, said.status, said.by,
                'q' || coalesce(body.reason, 'None')]
            when 'payload.redacted' then array[t.call,
                'v' || json_array_length(body.seqs) || case json_array_length(body.seqs) when 1 then ' payload' else ' payloads' end,
                said.by, 'q' || coalesce(body.reason, 'None')]
            when 'effects.changed' then array['v' || coalesce(body.version, 'None'), said.by]
        end as parts
    ) line
)
select p.shard, p.commit_key, p.seq, p.at, p.type,
    case when starts_with(p.type, 'drafts.') then 'tokens' else split_part(p.type, '.', 1) end as kind,
    p.branch, p.intent_id,
    case
        when spoken.line !~ '[\u0001-\u001f\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\U000f0000-\U0010ffff]'
            then spoken.line
        else (
            select string_agg(case
                when c.glyph !~ '[\u0001-\u001f\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\U000f0000-\U0010ffff]'
                    then c.glyph
                when c.glyph = chr(9) then '\t'
                when c.glyph = chr(10) then '\n'
                when c.glyph = chr(13) then '\r'
                when ascii(c.glyph) < 256 then '\x' || lpad(to_hex(ascii(c.glyph)), 2, '0')
                when ascii(c.glyph) < 65536 then '\u' || lpad(to_hex(ascii(c.glyph)), 4, '0')
                else '\U' || lpad(to_hex(ascii(c.glyph)), 8, '0')
            end, '' order by c.place)
            from regexp_split_to_table(spoken.line, '') with ordinality as c (glyph, place)
        )
    end as line,
    p.redacted
from parted p
cross join lateral (
    select case when left(p.template, 1) = 'v' then substr(p.template, 2) else (
        select string_agg(shown.before || case
                when shown.place = shown.last then ''
                when shown.way = 'v' then shown.text
                when shown.way = 'p' then shown.short
                when shown.way = 's' then ' ' || shown.short
                when shown.way = 'r' then ' (' || shown.short || ')'
                else '"' || replace(replace(shown.short, '\', '\\'), '"', '\"') || '"'
            end, '' order by shown.place)
        from (
            select part.before, left(part.told, 1) as way, substr(part.told, 2) as text, part.place,
                case when length(part.told) > 81 then substr(part.told, 2, 79) || '…' else substr(part.told, 2) end as short,
                count(part.before) over () as last
            from unnest(string_to_array(p.template, '{}'), p.parts) with ordinality as part (before, told, place)
        ) shown
        where shown.before is not null
    ) end as line
) spoken;
comment on view audit.timeline is
    'One ordered story a commit key: a readable line for each event. Order by seq; there is no order between commit keys.';
comment on column audit.timeline.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.timeline.commit_key is 'Names one model message; _effects for the versions of the effect table.';
comment on column audit.timeline.seq is 'Place of the event in its stream, from 1, without gaps.';
comment on column audit.timeline.at is 'When it was written; for people, never for order.';
comment on column audit.timeline.type is 'What happened.';
comment on column audit.timeline.kind is 'What it is about: stream, tokens, block, intent, dispatch, payload or effects.';
comment on column audit.timeline.branch is 'Token lane it concerns.';
comment on column audit.timeline.intent_id is 'Intent it concerns.';
comment on column audit.timeline.line is
    'What happened, to be read. Texts of models and tools are cut at 80 characters, and quoted where they could be mistaken.';
comment on column audit.timeline.redacted is 'The event''s payload is gone; the line says so.';
