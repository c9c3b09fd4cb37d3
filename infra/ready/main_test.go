package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// unknown leaves AWS's settings as they are on a machine that has none.
func unknown(t *testing.T) (dir string) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	dir = t.TempDir()
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return dir
}

const (
	noRegion      = "a region: export AWS_REGION=eu-central-1, for example"
	noCredentials = "credentials: aws configure makes them known, or export AWS_PROFILE"
	keys          = "aws_access_key_id = a\naws_secret_access_key = b\n"
)

func TestWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		env, files map[string]string
		samconfig  string
		args       []string
		want       string
		profile    string // that is not there, and is named
	}{
		"everything":             {want: noRegion + ", and " + noCredentials},
		"guided asks for it":     {args: []string{"--guided"}, want: noCredentials},
		"nothing":                {env: map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}},
		"the other variable":     {env: map[string]string{"AWS_DEFAULT_REGION": "eu-west-1"}, want: noCredentials},
		"a region in samconfig":  {samconfig: "[default.deploy.parameters]\n  region = \"eu-west-1\"\n", want: noCredentials},
		"commented out":          {samconfig: "# region = \"eu-west-1\"\n", want: noRegion + ", and " + noCredentials},
		"a region as argument":   {args: []string{"--region", "eu-west-1"}, want: noCredentials},
		"what aws configure has": {files: map[string]string{"config": "[default]\nregion = eu-west-1\n", "credentials": "[default]\n" + keys}},
		"the profile of an argument": {files: map[string]string{"config": "[profile a]\nregion = eu-west-1\n", "credentials": "[a]\n" + keys},
			args: []string{"--profile=a"}},
		"the profile of samconfig": {files: map[string]string{"config": "[profile a]\nregion = eu-west-1\n", "credentials": "[a]\n" + keys},
			samconfig: `profile = "a"`},
		"no such profile": {args: []string{"--profile", "acme"}, profile: "acme"},
		"another profile": {files: map[string]string{"config": "[profile a]\nregion = eu-west-1\n", "credentials": "[a]\n" + keys},
			want: noRegion + ", and " + noCredentials},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unknown(t)
			for variable, value := range test.env {
				t.Setenv(variable, value)
			}
			for file, text := range test.files {
				write(t, filepath.Join(dir, file), text)
			}
			samconfig := filepath.Join(dir, "samconfig.toml")
			write(t, samconfig, test.samconfig)
			got := ""
			if err := check(t.Context(), samconfig, test.args); err != nil {
				got = err.Error()
			}
			if got != test.want && (test.profile == "" || !strings.Contains(got, test.profile)) {
				t.Errorf("make deploy needs %q, not %q", got, test.want)
			}
		})
	}
}

// TestMakeDeployAsksBeforeItInstalls: on a machine without SAM and settings it
// ends with what is missing, and leaves nothing behind.
func TestMakeDeployAsksBeforeItInstalls(t *testing.T) {
	testenv.Program(t, "on Debian, apt-get install make", "make")
	sam := filepath.Join(unknown(t), "sam")
	deploy := exec.Command("make", "deploy", "SAM="+sam)
	deploy.Dir = guides.Root(t)
	out, err := deploy.CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(string(out), "make deploy needs "+noRegion+", and "+noCredentials) {
		t.Errorf("make deploy: %v\n%s", err, out)
	}
	if _, err := os.Stat(sam); !errors.Is(err, fs.ErrNotExist) {
		t.Error("make deploy has begun to install SAM")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}
