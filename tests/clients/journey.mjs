// The reference TypeScript client on its way through a project: `node journey.mjs v1|v2 legacy|auto`.
// Prints one JSON object with what it saw. SUTLER_NODE_MODULES says where npm put the packages.
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const require = createRequire(join(process.env.SUTLER_NODE_MODULES, 'x.js'));
const [line, mode] = process.argv.slice(2);
const v2 = line === 'v2';
const { Client } = require(v2 ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require(
  v2 ? '@modelcontextprotocol/client/stdio' : '@modelcontextprotocol/sdk/client/stdio.js',
);
const { StreamableHTTPClientTransport } = require(
  v2 ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/streamableHttp.js',
);

const project = process.env.JOURNEY_PROJECT;
const PATCH = '--- a/src/app.py\n+++ b/src/app.py\n@@ -2 +2 @@\n-    return 1\n+    return 2\n';
const seen = { asked: [] };
const answer = async (request) => {
  seen.asked.push(request.params.message);
  if (request.params.message.includes('no.txt')) return { action: 'decline' };
  return { action: 'accept', content: { approve: true } };
};

const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode } };
const client = new Client({ name: 'journey', version: '1' }, options);
if (v2) {
  client.setRequestHandler('elicitation/create', answer);
} else {
  const { ElicitRequestSchema } = require('@modelcontextprotocol/sdk/types.js');
  client.setRequestHandler(ElicitRequestSchema, answer);
}

const transport = process.env.JOURNEY_URL
  ? new StreamableHTTPClientTransport(new URL(process.env.JOURNEY_URL), {
      requestInit: { headers: { Authorization: `Bearer ${process.env.JOURNEY_TOKEN}` } },
    })
  : new StdioClientTransport({
      command: process.env.JOURNEY_PYTHON,
      args: ['-m', 'sutler', 'mcp', '--root', project],
      env: process.env,
      stderr: 'inherit',
    });
await client.connect(transport);

const call = async (name, args = {}) => {
  const found = await client.callTool({ name, arguments: args });
  return [Boolean(found.isError), found.structuredContent];
};
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.files = (await call('list_files'))[1].paths;
const first = (await call('read_file', { path: 'src/app.py' }))[1];
seen.text = first.text;
seen.patched = (await call('apply_patch', { patch: PATCH, base: first.version }))[1];
writeFileSync(join(project, 'src/app.py'), 'def main():\n    return 3\n');
seen.conflict = await call('apply_patch', { patch: PATCH, base: first.version });
seen.declined = await call('write_file', { path: 'no.txt', content: 'no\n', mode: 'create' });
seen.rolled_back = (await call('rollback', { path: 'src/app.py', version: first.version }))[1];
seen.denied = await call('read_file', { path: '.env' });
seen.resources = (await client.listResources()).resources.map((one) => one.uri);
seen.readme = (await client.readResource({ uri: 'sutler://project/README.md' })).contents[0].text;
seen.prompts = (await client.listPrompts()).prompts.map((one) => one.name);
seen.each = {};
for (const [name, args] of Object.entries(JSON.parse(process.env.JOURNEY_CALLS))) {
  const found = await client.callTool({ name, arguments: args });
  seen.each[name] = [Boolean(found.isError), typeof found.structuredContent, found.content[0].type];
}
const told = [];
const onprogress = (one) => told.push(one.progress);
const request = { name: 'pack', arguments: { goal: 'main' } };
await (v2 ? client.callTool(request, { onprogress }) : client.callTool(request, undefined, { onprogress }));
seen.progress = told.every((value, at) => at === 0 || value > told[at - 1]);
const stop = new AbortController();
const cancelled = v2
  ? client.callTool(request, { signal: stop.signal })
  : client.callTool(request, undefined, { signal: stop.signal });
setTimeout(() => stop.abort('no longer needed'), 20);
seen.cancelled = await cancelled.then(() => 'answered', () => 'cancelled');
seen.after = (await call('list_files'))[1].paths;
seen.version = v2 ? client.getNegotiatedProtocolVersion?.() ?? '' : transport.protocolVersion ?? '';
console.log(JSON.stringify(seen));
await client.close();
process.exit(0);
