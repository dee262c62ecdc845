-- What an administrator may do beforehand (migrations/versions/0003_roles.py): group roles, the login that owns the schema,
-- the services' login, the database. Run once by the image, as its superuser; the passwords come from the environment.
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD

create role commitgate_service nologin;
create role commitgate_writer nologin;
create role commitgate_dispatcher nologin;
create role commitgate_sealer nologin;
create role commitgate_reconciler nologin;
create role commitgate_auditor nologin;
create role commitgate_migrator nologin;
create role commitgate_redactor nologin;
grant commitgate_writer, commitgate_dispatcher, commitgate_sealer, commitgate_reconciler to commitgate_service;

create role commitgate_owner login password :'owner_password';
grant commitgate_migrator to commitgate_owner;
create role commitgate_app login password :'service_password';
grant commitgate_service to commitgate_app;

create database commitgate owner commitgate_owner;
revoke connect on database commitgate from public;
grant connect on database commitgate to commitgate_owner, commitgate_app, commitgate_auditor, commitgate_redactor;
